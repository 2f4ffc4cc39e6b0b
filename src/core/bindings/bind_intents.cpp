// Judgments by document and by intent, hits by intent, and greedy ideal lists.
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

#include "bindings/bind.hpp"
#include "bindings/convert.hpp"
#include "bindings/unlock.hpp"
#include "documents.hpp"
#include "greedy.hpp"
#include "intents.hpp"

namespace cranfield {
namespace {

using Longs = Vector1<std::int64_t>;
using LongsIn = Column<std::int64_t>;
using IntsIn = Column<std::int32_t>;
using DoublesIn = Column<double>;

std::tuple<std::unique_ptr<Judged>, Longs, Longs> py_by_document(nb::pointer_and_handle<Table> table, const LongsIn& place) {
    ByDocument found = unlocked([&] { return by_document(*table.p, span_of(place)); });
    found.judged->table = kept(table.h);
    return {std::move(found.judged), to_numpy(std::move(found.order)), to_numpy(std::move(found.start))};
}

std::tuple<std::unique_ptr<Judged>, Longs, Longs, Vector1<double>, Longs, Longs, Longs, Longs>
py_documents_by_intent(nb::pointer_and_handle<Table> table, const LongsIn& place) {
    DocumentsByIntent found = unlocked([&] { return documents_by_intent(*table.p, span_of(place)); });
    found.judged->table = kept(table.h);
    return {std::move(found.judged),          to_numpy(std::move(found.start)),       to_numpy(std::move(found.intent)),
            to_numpy(std::move(found.grade)), to_numpy(std::move(found.lists)),       to_numpy(std::move(found.labels)),
            to_numpy(std::move(found.empty_lists)), to_numpy(std::move(found.empty_labels))};
}

std::tuple<Longs, Longs, Longs> py_intents_before(const LongsIn& row, const LongsIn& document, const LongsIn& intents,
                                                  const LongsIn& start, const IntsIn& nth) {
    IntentsBefore found = unlocked([&] {
        return intents_before(span_of(row), span_of(document), span_of(intents), IntentEntries(span_of(start), span_of(nth)));
    });
    return {to_numpy(std::move(found.hit)), to_numpy(std::move(found.entry)), to_numpy(std::move(found.before))};
}

std::tuple<Longs, Longs, Longs> py_hits_by_intent(const LongsIn& row, const LongsIn& document, const LongsIn& intents,
                                                  const LongsIn& start, const IntsIn& nth) {
    LongColumn<std::int64_t> number, hit_of, entry_of;
    unlocked([&] {
        const HitsByIntent hits(span_of(row), span_of(document), span_of(intents), IntentEntries(span_of(start), span_of(nth)));
        number.resize(hits.size()), hit_of.resize(hits.size()), entry_of.resize(hits.size());
        hits.fill([&](std::size_t at, std::size_t list, std::size_t hit, std::size_t entry, std::size_t) {
            number[at] = static_cast<std::int64_t>(list);
            hit_of[at] = static_cast<std::int64_t>(hit);
            entry_of[at] = static_cast<std::int64_t>(entry);
        });
    });
    return {to_numpy(std::move(number)), to_numpy(std::move(hit_of)), to_numpy(std::move(entry_of))};
}

std::tuple<Longs, Vector1<std::int32_t>, Vector1<std::int32_t>, Vector1<double>> py_lists_by_intent(
    const LongsIn& row, const LongsIn& document, const LongsIn& intents, const LongsIn& start, const IntsIn& nth,
    const IntsIn& rank, const DoublesIn& grade) {
    LongColumn<std::int64_t> begins;
    LongColumn<std::int32_t> nth_of, rank_of;
    LongColumn<double> grade_of;
    unlocked([&] {
        const HitsByIntent hits(span_of(row), span_of(document), span_of(intents), IntentEntries(span_of(start), span_of(nth)));
        const std::span<const std::int32_t> ranks = span_of(rank);
        const std::span<const double> grades = span_of(grade);
        if (ranks.size() != row.size() || grades.size() != nth.size()) throw std::invalid_argument("columns of different lengths");
        nth_of.resize(hits.size()), rank_of.resize(hits.size()), grade_of.resize(hits.size());
        begins = hits.fill([&](std::size_t at, std::size_t, std::size_t hit, std::size_t entry, std::size_t above) {
            nth_of[at] = static_cast<std::int32_t>(above + 1);
            rank_of[at] = ranks[hit];
            grade_of[at] = grades[entry];
        });
    });
    return {to_numpy(std::move(begins)), to_numpy(std::move(nth_of)), to_numpy(std::move(rank_of)), to_numpy(std::move(grade_of))};
}

std::tuple<Longs, Vector1<double>> py_greedy_ideal(const LongsIn& topic_start, const LongsIn& intents, const LongsIn& start,
                                                   const IntsIn& nth, const DoublesIn& worth, const DoublesIn& share,
                                                   std::optional<double> lasting, std::size_t depth) {
    IdealGains found = unlocked([&] {
        const IntentEntries entries(span_of(start), span_of(nth));
        return greedy_ideal(span_of(topic_start), span_of(intents), entries, span_of(worth), span_of(share), lasting, depth);
    });
    return {to_numpy(std::move(found.begins)), to_numpy(std::move(found.gains))};
}

}  // namespace

// In what follows, document d has the entries from start[d] up to start[d + 1], and entry e is for the nth[e]-th intent of its
// topic. `row` and `document` belong to the hits, `intents` to the lists: the number of intents of the list's topic.
void bind_intents(nb::module_& m) {
    m.def("by_document", &py_by_document, "table"_a, "place"_a,
          "Every document once, numbered by topic and id, with its highest grade; the rows sorted by document and by the\n"
          "place of their label; and where the rows of each document begin.");
    m.def("documents_by_intent", &py_documents_by_intent, "table"_a, "place"_a,
          "Every document once, with its highest grade, and where its entries begin; for each entry the intent and the\n"
          "grade; for each intent the list and the label; and the list and label of each intent without a relevant\n"
          "document, which is left out.");
    m.def("intents_before", &py_intents_before, "row"_a, "document"_a, "intents"_a, "start"_a, "nth"_a,
          "Return (hit, entry, number of hits above it in the list that have an entry for the same intent) for each hit\n"
          "and each entry of its document.");
    m.def("hits_by_intent", &py_hits_by_intent, "row"_a, "document"_a, "intents"_a, "start"_a, "nth"_a,
          "Return (number of the list and intent, hit, entry), sorted by list and intent.");
    m.def("lists_by_intent", &py_lists_by_intent, "row"_a, "document"_a, "intents"_a, "start"_a, "nth"_a, "rank"_a, "grade"_a,
          "Return where each list by intent begins, and for each hit in it: 1 for the first, 2 for the next, and so on;\n"
          "its rank; and the grade of its entry.");
    m.def("greedy_ideal", &py_greedy_ideal, "topic_start"_a, "intents"_a, "start"_a, "nth"_a, "worth"_a, "share"_a,
          "lasting"_a.none(), "depth"_a,
          "Return where the greedy ideal list of each topic begins, and its gain at each rank down to `depth`.\n\n"
          "`worth` has one number per entry, `share` one per intent; if one is empty, all of its numbers are 1. An intent\n"
          "is worth `lasting` times as much after each document that serves it; if that is None, 1 - worth times.");
}

}  // namespace cranfield
