"""The Python that makes each figure of the gallery. It runs in the folder of the gallery's files, after `START`."""

from __future__ import annotations

START = """\
import cranfield as cf
from cranfield.report import figures

sample = cf.sample()
scores = cf.evaluate(sample.qrels, sample.runs, ["AP", "nDCG@10", "RR"])
"""
PYTHON = {
    "describe_boxes": """\
figure = scores["AP"].plot()
""",
    "describe_curves": """\
lists = cf.join(sample.qrels, sample.runs)
figure = figures.describe_curves(cf.interpolated_precision(lists))
""",
    "describe_precision_recall": """\
curves = {run: cf.precision_recall(lists, run, "101") for run in lists.runs}
figure = figures.describe_precision_recall(curves, topic="101")
""",
    "describe_saw_tooth": """\
from cranfield.measures.ranked_lists.curves import saw_tooth

curves = {run: saw_tooth(lists, run, "101") for run in lists.runs}
figure = figures.describe_saw_tooth(curves, topic="101")
""",
    "describe_first_rank": """\
from cranfield.measures import O

figure = figures.describe_first_rank([O(beta=0), O(beta=1), O(beta=10)], relevant=5)
""",
    "describe_topics": """\
figure = cf.topics(scores["AP"], run="bm25").plot()
""",
    "describe_diversity": """\
diverse = cf.evaluate("intents.qrels", sample.runs, ["I-rec@10", "D-nDCG@10"])
figure = figures.describe_diversity(diverse)
""",
    "describe_efficiency": """\
from cranfield.scores.efficiency import efficiency, read_times

figure = efficiency(scores["AP"], read_times("times.tsv")).plot()
""",
    "describe_heat": """\
table = scores["nDCG@10"]
figure = figures.describe_heat(table.values[0].T, table.topics, table.runs, what="nDCG@10", title="nDCG@10 by topic")
""",
    "describe_intervals": """\
figure = cf.compare(scores, "AP", test="tukey").plot()
""",
    "describe_levels": """\
from cranfield.comparison import tukey

figure = tukey(scores, "AP").plot()
""",
    "describe_progress": """\
from cranfield.comparison.yearly_best import yearly_best

figure = yearly_best("published.csv").plot()
""",
    "describe_residuals": """\
from cranfield.comparison import residuals, two_way

figure = residuals(two_way(scores, "AP")).plot(against="normal")
""",
    "describe_differences": """\
figure = figures.describe_differences(scores["AP"], ("bm25", "dense"))
""",
    "describe_interaction": """\
from cranfield.comparison import anova

factors = {
    "words": {"coord": "no", "bm25": "yes", "dense": "no", "fusion": "yes"},
    "vectors": {"coord": "no", "bm25": "no", "dense": "yes", "fusion": "yes"},
}
means = anova(scores, "AP", factors=factors).means("words", "vectors")
figure = means.plot(measure="AP")
""",
    "describe_power": """\
from cranfield.comparison import topic_set_size

answer = topic_set_size(scores, "AP", difference=0.05)
curve = answer.curve(range(20, 300, 10))
figure = figures.describe_power(curve, wanted=answer.power, answer=answer.topics)
""",
    "describe_gate_history": """\
from cranfield.comparison.gate.gate_history import gate_history

figure = gate_history("builds.jsonl").plot()
""",
    "describe_asl": """\
result = cf.meta.power(scores)
figure = figures.describe_asl({measure: result.p_of(measure) for measure in result.measures})
""",
    "describe_shares": """\
parts = {
    name: cf.meta.power(cf.evaluate(qrels, sample.runs, ["AP", "nDCG@10", "P@10", "RR"]))
    for name, qrels in (("people", sample.qrels), ("machine", "lenient.qrels"))
}
figure = figures.describe_shares(cf.meta.power_side_by_side(parts, "collection").columns())
""",
    "describe_swap_rates": """\
figure = figures.describe_swap_rates(cf.meta.swap(scores), open_end=True)
""",
    "describe_correlations": """\
figure = cf.meta.correlate(scores).plot()
""",
    "describe_concordance": """\
with_gold = cf.evaluate(sample.qrels, sample.runs, ["AP", "nDCG@10", "RR", "P@5"])
figure = figures.describe_concordance(cf.meta.concord(with_gold, "P@5", ["AP", "nDCG@10", "RR"]))
""",
    "describe_agreement": """\
figure = figures.describe_agreement(cf.meta.predictive_power(scores, "preferences.tsv"))
""",
    "describe_robustness": """\
result = cf.meta.robust(sample.qrels, sample.runs, ["AP", "nDCG@10", "bpref"])
figure = figures.describe_robustness(result.curve(result.methods[0], "tau"), kept="level")
""",
    "describe_rank_changes": """\
ranks = cf.meta.loo(sample.qrels, sample.runs, "AP")
figure = figures.describe_rank_changes(ranks, system="run", before="rank", after="rank_without", measure="AP")
""",
    "describe_list_order": """\
from cranfield.meta.scale.list_order import list_order

figure = list_order([((1, 0, 0), (0, 1, 1))], "AP", with_steps=True).plot()
""",
    "describe_spacing": """\
from itertools import product

grades = [*product([0, 1], repeat=4)]
scores_of_lists = {name: [cf.parse(name).of(list(each)) for each in grades] for name in ("P", "DCG", "RBP")}
figure = figures.describe_spacing(scores_of_lists, ["".join(map(str, each)) for each in grades])
""",
    "describe_axioms": """\
figure = cf.meta.axioms(["AP", "nDCG", "RR", "RBP"]).plot()
""",
    "describe_components": """\
figure = figures.describe_components(cf.meta.gtheory(scores), component="source")
""",
    "describe_informativeness": """\
figure = cf.meta.inform(lists, ["AP", "nDCG@10", "RR"]).plot()
""",
    "describe_effects": """\
baseline = ("sample/bm25.run", "bm25-again.run")
advanced = ("sample/dense.run", "dense-again.run")
repetition = cf.meta.reproduce(sample.qrels, baseline, advanced, ["AP", "nDCG@10", "RR"])
figure = repetition.plot()
""",
    "describe_alike": """\
alike = repetition.orders[0]
figure = figures.describe_alike({"topic": alike.topics, "tau": alike.tau, "overlap": alike.overlap}, alike.role)
""",
    "describe_discovery": """\
from cranfield.building.pools.pool_simulation import simulate_pools

simulated = simulate_pools(sample.qrels, sample.runs, ["depth", "rrf", "max-mean"])
figure = figures.describe_discovery(simulated.curve())
""",
    "describe_assessor_agreement": """\
from cranfield.building.agreement import pair_agreement
from cranfield.building.assessor_labels import Labels

labels = Labels.of("labels.csv")
figure = pair_agreement(labels).plot()
""",
    "describe_assessor_accuracy": """\
from cranfield.building.merging import merge, rate_assessors

figure = rate_assessors(labels, gold=sample.qrels).plot()
""",
    "describe_assessor_confusion": """\
merged = merge(labels, "dawid-skene")
figure = figures.describe_assessor_confusion(merged)
""",
    "describe_posterior_entropy": """\
figure = merged.plot()
""",
    "describe_method_ranks": """\
from cranfield.building.effect import merge_effect

figure = figures.describe_method_ranks(merge_effect(labels, sample.runs, "AP"), measure="AP")
""",
    "describe_label_errors": """\
from cranfield.building.effect.label_errors import label_errors

figure = label_errors(labels, sample.runs, "AP", gold=sample.qrels).plot()
""",
    "describe_judge_ranks": """\
from cranfield.building.machine.machine_audit import audit, read_judges

machines = read_judges({"careful": "careful.qrels", "lenient": "lenient.qrels"})
runs = {run.name: run for run in cf.read_runs(sample.runs)}
audited = audit(sample.qrels, machines, runs)
figure = audited.ranks.plot()
""",
    "describe_judge_confusion": """\
figure = audited.confusion.plot(judge="lenient")
""",
    "describe_topic_leniency": """\
figure = audited.topics.plot()
""",
    "describe_powered": """\
from cranfield.building.machine.powered_intervals import powered_intervals

by_people = cf.evaluate("human.qrels", sample.runs, ["nDCG@10"])
by_machine = cf.evaluate("careful.qrels", sample.runs, ["nDCG@10"])
figure = powered_intervals(by_people, by_machine).plot()
""",
    "describe_log_measure": """\
from cranfield.online.log_measures import measure_log
from cranfield.online.logs import read_log

log = read_log("log")
figure = measure_log(log, ["abandonment"], by="day").plot()
""",
    "describe_sessions": """\
from cranfield.online.logs.sessions import summarise_sessions

figure = summarise_sessions(log).plot()
""",
    "describe_reliability": """\
from cranfield.online.log_measures.satisfaction import learn_satisfaction

figure = figures.describe_reliability(learn_satisfaction(log, "satisfied.csv").curve)
""",
    "describe_arm_effects": """\
from cranfield.online.experiments import aa_splits, ab_power, analyse

figure = analyse("users.csv", ["revenue", "clicks/impressions"]).plot()
""",
    "describe_detectable": """\
figure = ab_power("users.csv", "revenue", users=[5000, 20000, 80000]).plot()
""",
    "describe_aa_p_values": """\
figure = aa_splits("users.csv", "revenue", unit="user", splits=500).plot()
""",
    "describe_preferences": """\
from cranfield.online.interleaving import analyse_interleaving
from cranfield.online.interleaving.attribution_log import count_logged

figure = analyse_interleaving(count_logged("lists.jsonl")).plot()
""",
    "describe_interleaving_power": """\
from cranfield.online.interleaving.sign_statistics import interleaving_power

curve = interleaving_power([0.02, 0.05], ties=0.4, impressions=2000).curve()
curve["series"] = [f"Δ = {delta:g}" for delta in curve["delta"]]
figure = figures.describe_interleaving_power(curve)
""",
    "describe_click_parameters": """\
from cranfield.online.clicks import evaluate_clicks, fit_clicks

figure = fit_clicks("log", "PBM").plot()
""",
    "describe_click_perplexity": """\
from cranfield.online.clicks.click_evaluation import held_out_pages

models = {name: fit_clicks("log", name, held_out=0.2, intervals=False) for name in ("RCM", "DCTR", "PBM")}
figure = evaluate_clicks(models, held_out_pages("log", models)).plot()
""",
    "describe_online_agreement": """\
from cranfield.online.prediction import online_agreement, simulate_outcomes

outcomes = simulate_outcomes(sample.qrels, sample.runs, queries=500)
figure = figures.describe_online_agreement(online_agreement(scores, outcomes).curve_columns())
""",
    "describe_trailtext": """\
from cranfield.measures import Trailtext

read = Trailtext([0, 200, 1700, 1900, 4100], [200, 1500, 200, 2200, 700], [0, 1, 0, 1, 1])
figure = figures.describe_trailtext(read, 132000)
""",
}
"""{function: lines that end with `figure = ...`}. Names of earlier entries can be used."""
