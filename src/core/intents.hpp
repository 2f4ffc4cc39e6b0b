// Judgments and hits intent by intent.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <stdexcept>
#include <string_view>
#include <thread>
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

// As many threads as the machine has, but none for less than some thousands of entries.
unsigned threads_for(std::size_t entries) {
    constexpr std::size_t kWorthAThread = 1 << 14;
    return static_cast<unsigned>(std::min<std::size_t>(entries / kWorthAThread + 1, std::max(1u, std::thread::hardware_concurrency())));
}

// The documents of one topic by id: their ids one after the other, and the row after the last of each.
struct TopicDocuments {
    std::vector<char> arena;
    std::vector<Id> ids;
    std::vector<std::int64_t> ends;
};

// Finds the documents among the rows of one list, and leaves in `order` its rows sorted by document and by the place of
// their intents.
class DocumentFinder {
public:
    DocumentFinder(const Table& table, WholeNumbers places, std::vector<std::int64_t>& order)
        : table_(table), places_(places), order_(order) {}

    TopicDocuments find(std::size_t list) {
        begin_ = static_cast<std::size_t>(table_.list_start[list]);
        end_ = static_cast<std::size_t>(table_.list_start[list + 1]);
        number_rows();
        TopicDocuments out = sort_documents();
        sort_rows(out);
        if (!table_.label.empty()) sort_intents(out);
        return out;
    }

private:
    std::int32_t& document(std::size_t row) { return of_row_[row - begin_]; }
    std::int64_t place(std::int64_t row) const {
        return places_[static_cast<std::size_t>(table_.label[static_cast<std::size_t>(row)])];
    }

    void number_rows() {
        ids_.clear();
        of_row_.clear();
        seen_.reset(end_ - begin_);
        for (std::size_t row = begin_; row < end_; ++row) {
            const std::string_view id = table_.id(row);
            if (row > begin_ && id == table_.id(row - 1)) {  // the lines of a document often follow each other
                of_row_.push_back(of_row_.back());
                continue;
            }
            const auto fresh = static_cast<std::int32_t>(ids_.size());
            const std::int32_t found = seen_.find_or_add(
                hash_id(id), fresh, [&](std::int32_t other) { return ids_[static_cast<std::size_t>(other)] == id; });
            if (found < 0) ids_.push_back(id);
            of_row_.push_back(found < 0 ? fresh : found);
        }
    }

    TopicDocuments sort_documents() {
        TopicDocuments out;
        std::vector<std::int32_t> by_id(ids_.size());
        for (std::size_t i = 0; i < ids_.size(); ++i) by_id[i] = static_cast<std::int32_t>(i);
        const auto id_of = [&](std::int32_t i) { return ids_[static_cast<std::size_t>(i)]; };
        std::sort(by_id.begin(), by_id.end(), [&](std::int32_t a, std::int32_t b) { return id_of(a) < id_of(b); });
        std::vector<std::int32_t> number(ids_.size());
        for (std::size_t i = 0; i < by_id.size(); ++i) {
            number[static_cast<std::size_t>(by_id[i])] = static_cast<std::int32_t>(i);
            const std::string_view id = id_of(by_id[i]);
            out.ids.push_back({out.arena.size() | (static_cast<std::uint64_t>(id.size()) << 48)});
            out.arena.insert(out.arena.end(), id.begin(), id.end());
        }
        for (std::int32_t& one : of_row_) one = number[static_cast<std::size_t>(one)];
        return out;
    }

    void sort_rows(TopicDocuments& out) {
        std::vector<std::size_t> next(ids_.size(), 0);
        for (const std::int32_t one : of_row_) ++next[static_cast<std::size_t>(one)];
        std::size_t filled = begin_;
        for (std::size_t& rows : next) {
            filled += std::exchange(rows, filled);
            out.ends.push_back(static_cast<std::int64_t>(filled));
        }
        for (std::size_t row = begin_; row < end_; ++row)
            order_[next[static_cast<std::size_t>(document(row))]++] = static_cast<std::int64_t>(row);
    }

    void sort_intents(const TopicDocuments& out) {
        auto from = order_.begin() + static_cast<std::ptrdiff_t>(begin_);
        for (const std::int64_t end : out.ends) {
            const auto to = order_.begin() + end;
            const auto before = [&](std::int64_t a, std::int64_t b) { return place(a) < place(b); };
            if (!std::is_sorted(from, to, before)) std::stable_sort(from, to, before);
            from = to;
        }
    }

    const Table& table_;
    WholeNumbers places_;
    std::vector<std::int64_t>& order_;
    std::size_t begin_ = 0, end_ = 0;
    IdTable seen_;
    std::vector<std::string_view> ids_;
    std::vector<std::int32_t> of_row_;
};

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
        const unsigned threads = threads_for(table.size());
        std::vector<DocumentFinder> finders(threads, DocumentFinder(table, places, order));
        std::vector<TopicDocuments> found(table.lists());
        parallel_for(table.lists(), threads, {}, [&](std::size_t list, unsigned thread) { found[list] = finders[thread].find(list); });
        judged->topics = table.topics;
        std::vector<std::vector<JudgedIndex::Document>> lists(table.lists());
        for (std::size_t l = 0; l < table.lists(); ++l) {
            for (const Id& id : found[l].ids) {
                lists[l].push_back({Id{id.packed + judged->arena.size()}, static_cast<double>(judged->grade.size())});
                judged->grade.push_back(lists[l].back().grade);
            }
            judged->arena.insert(judged->arena.end(), found[l].arena.begin(), found[l].arena.end());
            judged->start.push_back(static_cast<std::int64_t>(judged->grade.size()));
            start.insert(start.end(), found[l].ends.begin(), found[l].ends.end());
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
        if (documents.size() != row.size()) throw std::invalid_argument("columns of different lengths");
        struct Share {  // of one list: its hits, its intents, and where what it fills begins
            std::size_t first, last, many, filled, lists_before;
        };
        std::vector<Share> shares;
        std::size_t total = 0, lists_before = 0;
        for_each_list(span_of(row), span_of(intents), [&](std::size_t first, std::size_t last, std::size_t many) {
            shares.push_back({first, last, many, total, lists_before});
            for (std::size_t hit = first; hit < last; ++hit) {
                const auto [begin, end] = entries.of(documents[hit]);
                total += end - begin;
            }
            lists_before += many;
        });
        number.make(total), hit_of.make(total), entry_of.make(total);
        constexpr std::size_t kListsAtOnce = 16;
        const unsigned threads = threads_for(total);
        std::vector<std::vector<std::size_t>> places(threads);
        const auto fill = [&](const Share& share, std::vector<std::size_t>& next) {
            next.assign(share.many, 0);
            for (std::size_t hit = share.first; hit < share.last; ++hit) {
                const auto [begin, end] = entries.of(documents[hit]);
                for (std::size_t entry = begin; entry < end; ++entry) ++next[entries.nth(entry, share.many)];
            }
            std::size_t filled = share.filled;
            for (std::size_t& place : next) filled += std::exchange(place, filled);
            for (std::size_t hit = share.first; hit < share.last; ++hit) {
                const auto [begin, end] = entries.of(documents[hit]);
                for (std::size_t entry = begin; entry < end; ++entry) {
                    const std::size_t intent = entries.nth(entry, share.many), at = next[intent]++;
                    number.values[at] = static_cast<std::int64_t>(share.lists_before + intent);
                    hit_of.values[at] = static_cast<std::int64_t>(hit);
                    entry_of.values[at] = static_cast<std::int64_t>(entry);
                }
            }
        };
        parallel_for((shares.size() + kListsAtOnce - 1) / kListsAtOnce, threads, {}, [&](std::size_t piece, unsigned thread) {
            const std::size_t end = std::min(shares.size(), (piece + 1) * kListsAtOnce);
            for (std::size_t list = piece * kListsAtOnce; list < end; ++list) fill(shares[list], places[thread]);
        });
    }
    return nb::make_tuple(number.to_numpy(), hit_of.to_numpy(), entry_of.to_numpy());
}

}  // namespace
}  // namespace cranfield
