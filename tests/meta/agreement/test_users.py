"""What users said against measures: peers are scipy and statsmodels, on the rows themselves."""

import runpy
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from cranfield.building.topic_sets import user_study
from cranfield.errors import DataError, UsageError
from cranfield.meta import UserRatings, rating_model, read_user_ratings, users_needed
from cranfield.meta.agreement.user_agreement import _cells, _coefficients, _signs, user_agreement
from cranfield.scores.scores import Scores

SYSTEMS, TOPICS = ["a", "b", "c"], [f"t{i}" for i in range(12)]


def scores_of(rng: np.random.Generator, *names: str) -> Scores:
    return Scores(names, SYSTEMS, TOPICS, rng.uniform(size=(len(names), 3, 12)).round(2))


def simulated(
    scores: Scores, rng: np.random.Generator, users: int = 12, noise: float = 0.5, **sd: float
) -> UserRatings:
    """Users with habits of their own rate the first measure, with noise; on a plan of `user_study`."""
    plan = user_study(scores.runs, scores.topics, users, seed=1).columns()
    of_user = dict(zip(dict.fromkeys(plan["user"]), rng.normal(0, sd.get("user", 0.7), users), strict=True))
    rows = list(zip(plan["user"], plan["topic"], plan["system"], strict=True))
    truth = [scores.values[0, scores.runs.index(s), scores.topics.index(t)] for _, t, s in rows]
    rating = [3 + 2 * x + of_user[u] + rng.normal(0, noise) for (u, _, _), x in zip(rows, truth, strict=True)]
    return UserRatings.of(*zip(*rows, strict=True), rating=np.round(rating, 3))


def test_the_measure_that_users_rated_by_agrees_best() -> None:
    rng = np.random.default_rng(5)
    scores = scores_of(rng, "truth", "other")
    result = user_agreement(scores, simulated(scores, rng), resamples=200)
    truth, other = result.values[:, 0, 0], result.values[:, 0, 1]
    assert (truth[:4] > other[:4] + 0.3).all()
    assert truth[4] > other[4] + 0.1  # of pairs, half are predicted by chance
    assert result.best[0, 0] == 1.0
    assert (result.low[:, 0, 0] < truth).all()
    assert (truth < result.high[:, 0, 0]).all()
    assert result.low[3, 0, 1] < 0 < result.high[3, 0, 1]  # the other measure is random


def test_habits_of_users_do_not_count_if_their_means_are_subtracted() -> None:
    rng = np.random.default_rng(5)
    scores = scores_of(rng, "x")
    ratings = simulated(scores, rng, users=6, user=0.0)
    habit = {user: 10.0 * i for i, user in enumerate(dict.fromkeys(ratings.user))}
    shifted = ratings.outcomes["rating"] + [habit[user] for user in ratings.user]
    habitual = UserRatings.of(ratings.user, ratings.topic, ratings.system, rating=shifted)
    same = [user_agreement(scores, data, resamples=0, centre_users=True).values for data in (ratings, habitual)]
    np.testing.assert_allclose(*same, rtol=1e-9)
    raw = user_agreement(scores, habitual, resamples=0)
    assert raw.values[0, 0, 0] < same[0][0, 0, 0] - 0.3


def test_coefficients_are_those_of_scipy_on_repeated_rows() -> None:
    rng = np.random.default_rng(6)
    scores = scores_of(rng, "x", "y")
    ratings = simulated(scores, rng, users=5)
    cells, _ = _cells(scores, ratings, "rating", False)
    users, topics = np.array([2.0, 0, 1, 1, 1]), rng.multinomial(12, np.full(12, 1 / 12)).astype(float)
    got = _coefficients(cells, _signs(cells.scores.astype(np.float32)), users[None], topics[None])[0]
    # By hand: users that are drawn twice rate twice, topics that are drawn twice are in the sample twice.
    names = sorted(set(ratings.user))
    of_cell: dict[tuple[str, str], list[float]] = {}
    for user, topic, system, value in zip(
        ratings.user, ratings.topic, ratings.system, ratings.outcomes["rating"], strict=True
    ):
        of_cell.setdefault((topic, system), []).extend([value] * int(users[names.index(user)]))
    for m in range(2):
        x, y, xc, yc, right, pairs = [], [], [], [], 0.0, 0
        for t, topic in enumerate(scores.topics):
            inside = [(s, np.mean(of_cell[topic, s])) for s in scores.runs if of_cell.get((topic, s))]
            scored = [scores.values[m, scores.runs.index(s), t] for s, _ in inside]
            rated = [float(value) for _, value in inside]
            for _ in range(int(topics[t])):
                x, y = x + scored, y + rated
                xc, yc = xc + list(scored - np.mean(scored)), yc + list(rated - np.mean(rated))
                for i in range(len(inside)):
                    for j in range(i):
                        pairs += 1
                        right += (1 + np.sign(scored[i] - scored[j]) * np.sign(rated[i] - rated[j])) / 2
        expected = [stats.pearsonr(x, y)[0], stats.spearmanr(x, y)[0], stats.kendalltau(x, y)[0]]
        np.testing.assert_allclose(got[:, m], [*expected, stats.pearsonr(xc, yc)[0], right / pairs], rtol=1e-5)


def test_times_count_by_their_negative_logarithm() -> None:
    rng = np.random.default_rng(7)
    scores = scores_of(rng, "x")
    ratings = simulated(scores, rng)
    times = UserRatings.of(ratings.user, ratings.topic, ratings.system, time=np.exp(-ratings.outcomes["rating"]))
    np.testing.assert_allclose(
        user_agreement(scores, times, resamples=0).values, user_agreement(scores, ratings, resamples=0).values
    )


def test_stated_preferences_count_one_by_one(tmp_path: Path) -> None:
    path = tmp_path / "preferences.csv"
    path.write_text("user,topic,first,second,preferred\nu,t0,a,b,A\nu,t1,a,b,B\nv,t0,a,b,b\nv,t1,a,b,tie\nv,t2,a,c,c\n")
    values = np.zeros((1, 3, 12))
    values[0, 0, :2] = 1  # a beats b on t0 and t1, and ties with c on t2: right, wrong, wrong, left out, half right
    result = user_agreement(Scores(["x"], SYSTEMS, TOPICS, values), path, resamples=50)
    assert result.outcomes == ("preference",)
    assert result.values[4, 0, 0] == 1.5 / 4


def test_the_model_has_the_variances_of_statsmodels() -> None:
    pandas, formula = pytest.importorskip("pandas"), pytest.importorskip("statsmodels.formula.api")
    rng = np.random.default_rng(8)
    scores = scores_of(rng, "x")
    ratings = simulated(scores, rng, users=9, user=1.0)
    model = rating_model(ratings, interactions=())
    frame = pandas.DataFrame(
        {"rating": ratings.outcomes["rating"], "user": ratings.user, "topic": ratings.topic, "system": ratings.system}
    )
    random = {"user": "0 + C(user)", "topic": "0 + C(topic)"}
    peer = formula.mixedlm("rating ~ C(system)", frame, groups=np.ones(len(frame)), vc_formula=random).fit(reml=True)
    expected = dict(zip(peer.model.exog_vc.names, peer.vcomp, strict=True)) | {"error": peer.scale}
    for name, variance in expected.items():
        assert model[name].variance == pytest.approx(variance, rel=2e-3, abs=1e-4)
    means = dict(zip([level[0] for level in model.means("system").levels], model.means("system").mean, strict=True))
    assert means["b"] - means["a"] == pytest.approx(peer.fe_params["C(system)[T.b]"], rel=1e-3)


def test_systems_that_do_not_differ_are_rarely_found_different() -> None:
    rng, found = np.random.default_rng(9), 0
    plan = user_study(SYSTEMS, TOPICS, 6, seed=0).columns()
    names = [plan[name].tolist() for name in ("user", "topic", "system")]
    codes = {name: np.unique(plan[name], return_inverse=True)[1] for name in ("user", "topic", "system")}
    for _ in range(30):
        by_user, by_topic = rng.normal(size=6)[codes["user"]], rng.normal(size=12)[codes["topic"]]
        with_system = rng.normal(0, 0.5, (12, 3))[codes["topic"], codes["system"]]
        rating = by_user + by_topic + with_system + rng.normal(size=72)
        found += rating_model(UserRatings.of(*names, rating=rating))["system"].p < 0.05
    assert found <= 6  # 1.5 expected; P(more than 6) < 0.001


def test_the_number_of_users_has_the_power_of_a_paired_t_test() -> None:
    rng = np.random.default_rng(10)
    scores = scores_of(rng, "x")
    ratings = simulated(scores, rng, noise=1.0)
    model = rating_model(ratings)
    answer = users_needed(model, [0.5, 0.25], power=0.8)
    variance = {part.source: part.variance for part in model.components}
    within = 2 * (variance["system:user"] + variance["error"] / 4)  # 12 topics, 3 systems

    def power(n: int, difference: float, variance_of_mean: float) -> float:
        df, shift = n - 1, difference / np.sqrt(variance_of_mean)
        limit = stats.t.isf(0.025, df)
        return float(stats.nct.sf(limit, df, shift) + stats.nct.cdf(-limit, df, shift))

    for difference, users, others, topics in zip(
        answer.differences, answer.users, answer.users_any, answer.topics_least, strict=True
    ):
        assert power(users, difference, within / users) >= 0.8 > power(users - 1, difference, within / (users - 1))
        between = 2 * variance["system:topic"]
        floor = between * (stats.norm.isf(0.025) + stats.norm.isf(0.2)) ** 2 / difference**2
        assert topics - 1 <= floor < topics
        if others is None:
            assert floor >= 12
        else:
            assert power(others, difference, within / others + between / 12) >= 0.8
            assert power(others - 1, difference, within / (others - 1) + between / 12) < 0.8


def test_a_file_of_json_lines_with_searches_and_preferences(tmp_path: Path) -> None:
    path = tmp_path / "users.jsonl"
    path.write_text(
        '{"user": 1, "topic": "t0", "system": "a", "rating": 4, "time": 12.5}\n'
        '{"user": 2, "topic": "t0", "system": "b", "rating": null}\n'
        '{"user": 2, "topic": "t1", "first": "a", "second": "b", "preferred": "b"}\n'
    )
    ratings = read_user_ratings(path)
    assert (ratings.user, ratings.topic, ratings.system) == (("1",), ("t0",), ("a",))
    assert {name: values.tolist() for name, values in ratings.outcomes.items()} == {"rating": [4.0], "time": [12.5]}
    assert ratings.preferences is not None
    assert ratings.preferences.preferred == (-1,)
    assert ratings.notes == ("1 row without a rating, a time or a preference left out",)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("user,topic,system,rating\nu,t,a,good\n", "ratings.csv:2: the rating is 'good', expected a number"),
        ("user,topic,system,rating\nu,t,a,inf\n", "ratings.csv:2: the rating is 'inf', expected a number"),
        ("user,topic,system,time\nu,t,a,0\n", "ratings.csv:2: the time is '0', expected a number, above 0"),
        ("user,topic,system,rating\nu,t,,3\n", "ratings.csv:2: a rating without a system"),
        ("user,topic,system,rating\n,t,a,3\n", "ratings.csv:2: the user is '', expected a text that is not empty"),
        ("user,topic,system,rating\nu,t,a,\n", "only empty cells"),
        ("topic,system,rating\nt,a,3\n", "no column for the user among topic, system, rating"),
        ("user,topic,system\nu,t,a\n", "columns user, topic, system; expected a header"),
        ("user,topic,system,rating,rating\nu,t,a,3,4\n", "2 columns are called rating"),
        ("user,topic,first,second,preferred\nu,t,a,a,A\n", "ratings.csv:2: run 'a' is compared with itself"),
        ("user,topic,first,second,preferred\nu,t,a,b,c\n", "ratings.csv:2: preferred 'c', must be A, B, tie"),
        ("", "is empty"),
    ],
)
def test_files_that_cannot_be_read(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "ratings.csv"
    path.write_text(text)
    with pytest.raises(DataError) as error:
        read_user_ratings(path)
    assert message in str(error.value)


def test_what_a_model_cannot_be_fitted_to() -> None:
    with pytest.raises(UsageError, match=r"one user \(u\), a model of ratings needs 2 or more"):
        rating_model(UserRatings.of("uuu", "123", "aba", rating=[1, 2, 3]))
    with pytest.raises(UsageError, match=r"one system \(a\)"):
        rating_model(UserRatings.of("uvu", "121", "aaa", rating=[1, 2, 3]))
    with pytest.raises(UsageError, match="every rating is 3"):
        rating_model(UserRatings.of("uuvv", "1212", "abba", rating=[3, 3, 3, 3]))
    with pytest.raises(UsageError, match="no degrees of freedom are left for the error"):
        rating_model(UserRatings.of("uuv", "121", "abb", rating=[1, 2, 4]))
    with pytest.raises(UsageError, match="each user has one system, and each system one user"):
        rating_model(UserRatings.of("uv", "12", "ab", rating=[1, 2]))
    # A user with one rating is fine: the ratings of others tell the systems apart.
    ratings = UserRatings.of("uuuuvvvvw", "123412341", "ababbabaa", rating=[5, 2, 4, 3, 2, 5, 1, 3, 4])
    assert rating_model(ratings)["system"].df == 1


def test_users_who_saw_one_system_each_are_nested_in_systems() -> None:
    # Balanced: systems are tested against users, so F is that of an analysis of variance of the users' means.
    rng = np.random.default_rng(4)
    rows = [(f"u{u}", f"t{t}", "ab"[u % 2]) for u in range(8) for t in range(5)]
    level = dict(zip([f"u{u}" for u in range(8)], rng.normal(size=8), strict=True))
    values = [level[user] + (system == "b") + rng.normal(0, 0.3) for user, _, system in rows]
    model = rating_model(UserRatings.of(*zip(*rows, strict=True), rating=values), interactions=())
    means = np.array(values).reshape(8, 5).mean(axis=1)
    peer = stats.f_oneway(means[0::2], means[1::2])
    assert (model["system"].f, model["system"].p) == pytest.approx((peer.statistic, peer.pvalue))
    assert "each user has one system, so user is nested in system" in model.notes


def test_intervals_have_the_coverage_that_they_claim() -> None:
    # tools/user_coverage.py has the whole study; here are 40 small ones.
    script = runpy.run_path(str(Path(__file__).parents[3] / "tools" / "user_coverage.py"))
    studies = [script["simulated_study"](np.random.default_rng(seed), users=12, topics=10) for seed in range(40)]
    results = [user_agreement(scores, ratings, resamples=200) for scores, ratings in studies]
    value, low, high = (np.stack([getattr(r, name)[:, 0, 0] for r in results]) for name in ("values", "low", "high"))
    covered = ((low <= value.mean(axis=0)) & (value.mean(axis=0) <= high)).mean(axis=0)
    assert covered.min() >= 0.82  # 95% − 3.8 standard errors of 40 studies
    # They are not too wide either: much shorter ones would not cover.
    half = 0.5 * (high - low) / 3
    assert ((np.abs(value - value.mean(axis=0)) <= half).mean(axis=0) < 0.82).all()


def test_systems_and_topics_without_scores() -> None:
    rng = np.random.default_rng(11)
    scores = scores_of(rng, "x")
    ratings = simulated(scores, rng)
    fewer = scores.select(runs=["a", "b"])
    assert "rating: systems without scores left out: c" in user_agreement(fewer, ratings, resamples=0).notes
    other = UserRatings.of(ratings.user, ratings.topic, ["z"] * len(ratings.user), rating=ratings.outcomes["rating"])
    with pytest.raises(UsageError, match="no rated system has scores; users rated 'z'"):
        user_agreement(scores, other)
    with pytest.raises(UsageError, match="2 combinations of topic and system with a rating and a score"):
        user_agreement(scores, UserRatings.of("uv", ["t0", "t1"], "ab", rating=[1, 2]))
