// Judgments and hits intent by intent, and the greedy ideal list: loops whose every step depends on those before.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "joins.hpp"

namespace cranfield {
namespace {

template <typename T>
using Column = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using WholeNumbers = std::span<const std::int64_t>;

// Plain memory: an ndarray looks its strides up at every access.
template <typename T>
std::span<const T> span_of(const Column<T>& column) {
    return {column.data(), column.size()};
}

// Every document once, whatever the number of intents it is judged for. Documents are numbered topic by topic, in order
// of their ids; the grade in what is returned is that number. With it, the rows sorted by document and intent, and where
// the rows of each document begin. Intents come in the order of `place`, one number for each label.
nb::tuple py_by_document(const Table& table, const Column<std::int64_t>& place) {
    auto judged = std::make_unique<Judged>();
    std::vector<std::int64_t> order(table.size()), start{0};
    {
        const nb::gil_scoped_release release;
        const WholeNumbers places = span_of(place);
        if (!table.label.empty() && places.size() != table.labels.size()) throw std::invalid_argument("one place for each label");
        judged->topics = table.topics;
        IdTable seen;
        std::vector<std::string_view> ids;
        std::vector<std::int32_t> of_row, in_order, number;
        std::vector<std::vector<JudgedIndex::Document>> lists(table.lists());
        std::vector<std::size_t> next;
        for (std::size_t l = 0; l < table.lists(); ++l) {
            const auto begin = static_cast<std::size_t>(table.list_start[l]), end = static_cast<std::size_t>(table.list_start[l + 1]);
            ids.clear();
            of_row.clear();
            seen.reset(end - begin);
            for (std::size_t row = begin; row < end; ++row) {
                const std::string_view id = table.id(row);
                if (row > begin && id == table.id(row - 1)) {  // the lines of a document often follow each other
                    of_row.push_back(of_row.back());
                    continue;
                }
                const auto fresh = static_cast<std::int32_t>(ids.size());
                const std::int32_t found = seen.find_or_add(
                    hash_id(id), fresh, [&](std::int32_t other) { return ids[static_cast<std::size_t>(other)] == id; });
                if (found < 0) ids.push_back(id);
                of_row.push_back(found < 0 ? fresh : found);
            }
            in_order.resize(ids.size());
            for (std::size_t i = 0; i < ids.size(); ++i) in_order[i] = static_cast<std::int32_t>(i);
            const auto id_of = [&](std::int32_t i) { return ids[static_cast<std::size_t>(i)]; };
            std::sort(in_order.begin(), in_order.end(), [&](std::int32_t a, std::int32_t b) { return id_of(a) < id_of(b); });
            number.resize(ids.size());
            for (std::size_t i = 0; i < in_order.size(); ++i) {
                number[static_cast<std::size_t>(in_order[i])] = static_cast<std::int32_t>(i);
                const std::string_view id = id_of(in_order[i]);
                const Id at{judged->arena.size() | (static_cast<std::uint64_t>(id.size()) << 48)};
                judged->arena.insert(judged->arena.end(), id.begin(), id.end());
                lists[l].push_back({at, static_cast<double>(judged->grade.size())});
                judged->grade.push_back(lists[l].back().grade);
            }
            judged->start.push_back(static_cast<std::int64_t>(judged->grade.size()));

            next.assign(ids.size(), 0);
            for (std::int32_t& document : of_row) ++next[static_cast<std::size_t>(document = number[static_cast<std::size_t>(document)])];
            std::size_t filled = begin;
            for (std::size_t& rows : next) {
                filled += std::exchange(rows, filled);
                start.push_back(static_cast<std::int64_t>(filled));
            }
            for (std::size_t row = begin; row < end; ++row)
                order[next[static_cast<std::size_t>(of_row[row - begin])]++] = static_cast<std::int64_t>(row);
            if (table.label.empty()) continue;
            const auto place_of = [&](std::int64_t row) {
                return places[static_cast<std::size_t>(table.label[static_cast<std::size_t>(row)])];
            };
            for (std::size_t i = begin + 1; i < end; ++i)  // mostly in order already
                if (of_row[static_cast<std::size_t>(order[i]) - begin] == of_row[static_cast<std::size_t>(order[i - 1]) - begin] &&
                    place_of(order[i]) < place_of(order[i - 1])) {
                    const auto document = judged->start[l] + of_row[static_cast<std::size_t>(order[i]) - begin];
                    const auto at = [&](std::int64_t d) { return order.begin() + start[static_cast<std::size_t>(d)]; };
                    std::stable_sort(at(document), at(document + 1),
                                     [&](std::int64_t a, std::int64_t b) { return place_of(a) < place_of(b); });
                }
        }
        judged->index = JudgedIndex(judged->arena.data());  // the arena does not move any more
        for (std::size_t l = 0; l < table.lists(); ++l)
            judged->index.add_topic(table.topics[static_cast<std::size_t>(table.list_topic[l])], lists[l]);
    }
    return nb::make_tuple(nb::cast(judged.release(), nb::rv_policy::take_ownership), to_numpy(std::move(order)),
                          to_numpy(std::move(start)));
}

// Which documents are judged for which intents: document d has the entries from start[d] up to start[d + 1], and entry e
// is for the nth[e]-th intent of its topic.
class IntentEntries {
public:
    IntentEntries(WholeNumbers start, std::span<const std::int32_t> nth) : start_(start), nth_(nth) {
        if (start.empty() || start.front() < 0 || start.back() > static_cast<std::int64_t>(nth.size()) ||
            !std::is_sorted(start.begin(), start.end()))
            throw std::out_of_range("documents must begin and end among the entries");
    }

    // From the first entry of a document up to the one after its last.
    std::pair<std::size_t, std::size_t> of(std::int64_t document) const {
        const auto at = static_cast<std::size_t>(document);
        if (document < 0 || at + 1 >= start_.size()) throw std::out_of_range("no such document");
        return {static_cast<std::size_t>(start_[at]), static_cast<std::size_t>(start_[at + 1])};
    }
    // Which intent of its topic, which has so many of them, an entry is for.
    std::size_t nth(std::size_t entry, std::size_t many) const {
        const auto found = static_cast<std::size_t>(static_cast<std::uint32_t>(nth_[entry]));
        if (found >= many) throw std::out_of_range("no such intent of the topic");
        return found;
    }

private:
    WholeNumbers start_;
    std::span<const std::int32_t> nth_;
};

// Hits, sorted by list: calls work(first hit, hit after the last, intents of the list's topic) for every list.
template <typename Work>
void for_each_list(WholeNumbers row, WholeNumbers intents, const Work& work) {
    std::size_t hit = 0;
    for (std::size_t list = 0; list < intents.size(); ++list) {
        if (intents[list] < 0) throw std::out_of_range("fewer than no intents");
        const std::size_t first = hit;
        while (hit < row.size() && row[hit] == static_cast<std::int64_t>(list)) ++hit;
        work(first, hit, static_cast<std::size_t>(intents[list]));
    }
    if (hit < row.size()) throw std::invalid_argument("hits must be sorted by list");
}

// A column to be filled in any order; nothing is written before.
struct Unfilled {
    std::unique_ptr<std::int64_t[]> values;
    std::size_t size = 0;

    void make(std::size_t count) {
        values = std::make_unique_for_overwrite<std::int64_t[]>(count);
        size = count;
    }
    Vector1<std::int64_t> to_numpy() {
        std::int64_t* const kept = values.release();
        const nb::capsule owner(kept, [](void* p) noexcept { delete[] static_cast<std::int64_t*>(p); });
        return {kept, {size}, owner};
    }
};

// How many entries the documents have, each counted as often as it is there.
std::size_t entries_of(const IntentEntries& entries, WholeNumbers documents, std::size_t hits) {
    if (documents.size() != hits) throw std::invalid_argument("columns of different lengths");
    std::size_t total = 0;
    for (const std::int64_t document : documents) {
        const auto [begin, end] = entries.of(document);
        total += end - begin;
    }
    return total;
}

// Every hit as often as it has entries, in the order given: (hit, entry, how many hits above it in its list have an entry
// for the same intent).
nb::tuple py_intents_before(const Column<std::int64_t>& row, const Column<std::int64_t>& document,
                            const Column<std::int64_t>& intents, const Column<std::int64_t>& start,
                            const Column<std::int32_t>& nth) {
    std::vector<std::int64_t> hit_of, entry_of, before;
    {
        const nb::gil_scoped_release release;
        const IntentEntries entries(span_of(start), span_of(nth));
        const WholeNumbers documents = span_of(document);
        const std::size_t total = entries_of(entries, documents, row.size());
        hit_of.reserve(total), entry_of.reserve(total), before.reserve(total);
        std::vector<std::int64_t> seen;
        for_each_list(span_of(row), span_of(intents), [&](std::size_t first, std::size_t last, std::size_t many) {
            seen.assign(many, 0);
            for (std::size_t hit = first; hit < last; ++hit) {
                const auto [begin, end] = entries.of(documents[hit]);
                for (std::size_t entry = begin; entry < end; ++entry) {
                    hit_of.push_back(static_cast<std::int64_t>(hit));
                    entry_of.push_back(static_cast<std::int64_t>(entry));
                    before.push_back(seen[entries.nth(entry, many)]++);
                }
            }
        });
    }
    return nb::make_tuple(to_numpy(std::move(hit_of)), to_numpy(std::move(entry_of)), to_numpy(std::move(before)));
}

// The same sorted by list and intent: (number of the list and intent, hit, entry). Lists by intent are numbered one after
// the other, as many for each list as its topic has intents.
nb::tuple py_hits_by_intent(const Column<std::int64_t>& row, const Column<std::int64_t>& document,
                            const Column<std::int64_t>& intents, const Column<std::int64_t>& start,
                            const Column<std::int32_t>& nth) {
    Unfilled number, hit_of, entry_of;
    {
        const nb::gil_scoped_release release;
        const IntentEntries entries(span_of(start), span_of(nth));
        const WholeNumbers documents = span_of(document);
        const std::size_t total = entries_of(entries, documents, row.size());
        number.make(total), hit_of.make(total), entry_of.make(total);
        std::vector<std::size_t> next;
        std::size_t filled = 0, lists_before = 0;
        for_each_list(span_of(row), span_of(intents), [&](std::size_t first, std::size_t last, std::size_t many) {
            next.assign(many, 0);
            for (std::size_t hit = first; hit < last; ++hit) {
                const auto [begin, end] = entries.of(documents[hit]);
                for (std::size_t entry = begin; entry < end; ++entry) ++next[entries.nth(entry, many)];
            }
            for (std::size_t& place : next) filled += std::exchange(place, filled);
            for (std::size_t hit = first; hit < last; ++hit) {
                const auto [begin, end] = entries.of(documents[hit]);
                for (std::size_t entry = begin; entry < end; ++entry) {
                    const std::size_t intent = entries.nth(entry, many), at = next[intent]++;
                    number.values[at] = static_cast<std::int64_t>(lists_before + intent);
                    hit_of.values[at] = static_cast<std::int64_t>(hit);
                    entry_of.values[at] = static_cast<std::int64_t>(entry);
                }
            }
            lists_before += many;
        });
    }
    return nb::make_tuple(number.to_numpy(), hit_of.to_numpy(), entry_of.to_numpy());
}

// The list that takes the document that gains most at every rank, of equal ones the last. An intent is worth 1, and
// `lasting` times as much every time a document has served it; a document gains what its intents are worth, added in their
// order. Gains only fall, in floating point too, so what a document gained earlier bounds what it gains now: most need not
// be looked at again. (A heap of those bounds was slower: nearly all of them fall at every rank.)
class GreedyIdeal {
public:
    GreedyIdeal(const IntentEntries& entries, double lasting) : entries_(entries), lasting_(lasting) {}

    void append(std::int64_t begin, std::int64_t end, std::size_t intents, std::size_t depth, std::vector<double>& gains) {
        take(begin, end, intents);
        for (std::size_t rank = 1; rank <= depth && !waiting_.empty(); ++rank) {
            std::size_t best = 0;
            gain_[0] = gain(waiting_[0]);
            for (std::size_t i = 1; i < waiting_.size(); ++i) {
                if (gain_[i] < gain_[best]) continue;
                gain_[i] = gain(waiting_[i]);
                const bool equal = gain_[i] == gain_[best];
                if (equal ? waiting_[i].document > waiting_[best].document : gain_[i] > gain_[best]) best = i;
            }
            gains.push_back(gain_[best]);
            for (std::size_t i = waiting_[best].begin; i < waiting_[best].end; ++i) worth_[nth_[i]] *= lasting_;
            waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(best));
            gain_.erase(gain_.begin() + static_cast<std::ptrdiff_t>(best));
        }
    }

private:
    struct Candidate {
        std::int64_t document;
        std::size_t begin, end;  // its intents
    };

    double gain(const Candidate& candidate) const {
        double sum = 0.0;
        for (std::size_t i = candidate.begin; i < candidate.end; ++i) sum += worth_[nth_[i]];
        return sum;
    }

    // The documents of one topic that have entries, those that gain most first, which lets the others be passed over.
    void take(std::int64_t begin, std::int64_t end, std::size_t intents) {
        worth_.assign(intents, 1.0);
        waiting_.clear();
        nth_.clear();
        for (std::int64_t document = begin; document < end; ++document) {
            const std::size_t first = nth_.size();
            const auto [entry, after] = entries_.of(document);
            for (std::size_t i = entry; i < after; ++i) nth_.push_back(entries_.nth(i, intents));
            if (nth_.size() > first) waiting_.push_back({document, first, nth_.size()});
        }
        std::stable_sort(waiting_.begin(), waiting_.end(),
                         [](const Candidate& a, const Candidate& b) { return a.end - a.begin > b.end - b.begin; });
        gain_.clear();
        for (const Candidate& candidate : waiting_) gain_.push_back(gain(candidate));
    }

    const IntentEntries& entries_;
    double lasting_;
    std::vector<double> worth_;
    std::vector<std::size_t> nth_;
    std::vector<Candidate> waiting_;
    std::vector<double> gain_;  // of each, when it was last looked at
};

// What the greedy ideal list of each topic gains at every rank down to `depth`: (where each topic begins, gains). The
// documents of topic t are those from topic_start[t] up to topic_start[t + 1].
nb::tuple py_greedy_ideal(const Column<std::int64_t>& topic_start, const Column<std::int64_t>& intents,
                          const Column<std::int64_t>& start, const Column<std::int32_t>& nth, double lasting, std::size_t depth) {
    std::vector<std::int64_t> begins{0};
    std::vector<double> gains;
    {
        const nb::gil_scoped_release release;
        if (topic_start.size() != intents.size() + 1) throw std::invalid_argument("columns of different lengths");
        if (!(lasting >= 0.0 && lasting <= 1.0)) throw std::invalid_argument("lasting must be between 0 and 1");
        const IntentEntries entries(span_of(start), span_of(nth));
        GreedyIdeal ideal(entries, lasting);
        for (std::size_t topic = 0; topic < intents.size(); ++topic) {
            if (intents(topic) < 0) throw std::out_of_range("fewer than no intents");
            ideal.append(topic_start(topic), topic_start(topic + 1), static_cast<std::size_t>(intents(topic)), depth, gains);
            begins.push_back(static_cast<std::int64_t>(gains.size()));
        }
    }
    return nb::make_tuple(to_numpy(std::move(begins)), to_numpy(std::move(gains)));
}

}  // namespace
}  // namespace cranfield
