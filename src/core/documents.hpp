// The documents that are judged, each once, and what each is worth to every intent.
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

#include "join_runs.hpp"

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
    DocumentFinder(const Table& table, WholeNumbers places, LongColumn<std::int64_t>& order)
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
            if (row > begin_ && same_text(id, table_.id(row - 1))) {  // the lines of a document often follow each other
                of_row_.push_back(of_row_.back());
                continue;
            }
            const auto fresh = static_cast<std::int32_t>(ids_.size());
            const std::int32_t found = seen_.find_or_add(
                hash_id(id), fresh, [&](std::int32_t other) { return same_text(ids_[static_cast<std::size_t>(other)], id); });
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
    LongColumn<std::int64_t>& order_;
    std::size_t begin_ = 0, end_ = 0;
    IdTable seen_;
    std::vector<std::string_view> ids_;
    std::vector<std::int32_t> of_row_;
};

// Finds the documents of every list with several threads; `also(list, documents, thread)` does what else there is to do for
// a list, once its rows are sorted.
template <typename Also>
std::vector<TopicDocuments> find_documents(const Table& table, const Column<std::int64_t>& place, LongColumn<std::int64_t>& order,
                                           unsigned threads, const Also& also) {
    const WholeNumbers places = span_of(place);
    if (!table.label.empty() && places.size() != table.labels.size()) throw std::invalid_argument("one place for each label");
    order.resize(table.size());
    std::vector<DocumentFinder> finders(threads, DocumentFinder(table, places, order));
    std::vector<TopicDocuments> found(table.lists());
    parallel_for(table.lists(), threads, {}, [&](std::size_t list, unsigned thread) {
        found[list] = finders[thread].find(list);
        also(list, found[list], thread);
    });
    return found;
}

// Documents ready to be joined, numbered topic by topic in order of their ids; the grade of each is that number.
std::unique_ptr<Judged> numbered_documents(const Table& table, const std::vector<TopicDocuments>& found) {
    auto judged = std::make_unique<Judged>();
    judged->topics = table.topics;
    std::vector<std::vector<JudgedIndex::Document>> lists(table.lists());
    for (std::size_t l = 0; l < table.lists(); ++l) {
        for (const Id& id : found[l].ids) {
            lists[l].push_back({Id{id.packed + judged->arena.size()}, static_cast<double>(judged->grade.size())});
            judged->grade.push_back(lists[l].back().grade);
        }
        judged->arena.insert(judged->arena.end(), found[l].arena.begin(), found[l].arena.end());
        judged->start.push_back(static_cast<std::int64_t>(judged->grade.size()));
    }
    judged->index = JudgedIndex(judged->arena.data());  // the arena does not move any more
    for (std::size_t l = 0; l < table.lists(); ++l)
        judged->index.add_topic(table.topics[static_cast<std::size_t>(table.list_topic[l])], lists[l]);
    return judged;
}

// Every document once, whatever the number of intents it is judged for; the rows sorted by document and intent, and where
// the rows of each document begin. Intents come in the order of `place`, one number for each label.
nb::tuple py_by_document(const Table& table, const Column<std::int64_t>& place) {
    std::unique_ptr<Judged> judged;
    LongColumn<std::int64_t> order;
    std::vector<std::int64_t> start{0};
    {
        const nb::gil_scoped_release release;
        const auto nothing = [](std::size_t, const TopicDocuments&, unsigned) {};
        const std::vector<TopicDocuments> found = find_documents(table, place, order, threads_for(table.size()), nothing);
        judged = numbered_documents(table, found);
        for (const TopicDocuments& topic : found) start.insert(start.end(), topic.ends.begin(), topic.ends.end());
    }
    return nb::make_tuple(nb::cast(judged.release(), nb::rv_policy::take_ownership), to_numpy(std::move(order)),
                          to_numpy(std::move(start)));
}

// What one topic's documents are judged for: its intents to which some document is relevant, those to which none is, and the
// documents' entries for the former.
struct TopicEntries {
    std::vector<std::int32_t> labels, empty;  // both in order
    std::vector<std::size_t> ends;            // how many entries the documents have, up to and including each
    std::vector<double> highest;              // grade of each document
};

// Keeps the entries of one list after the other, in the columns of all lists, where they stand if none is left out.
class EntryKeeper {
public:
    EntryKeeper(const Table& table, WholeNumbers places, const LongColumn<std::int64_t>& order, LongColumn<double>& grade,
                LongColumn<std::int64_t>& nth)
        : table_(table), places_(places), order_(order), grade_(grade), nth_(nth),
          of_label_(std::max<std::size_t>(1, table.labels.size()), kAbsent) {}

    TopicEntries keep(std::size_t list, const TopicDocuments& documents) {
        const auto begin = static_cast<std::size_t>(table_.list_start[list]);
        TopicEntries out = intents(begin, static_cast<std::size_t>(table_.list_start[list + 1]));
        std::size_t row = begin, kept = begin;
        for (const std::int64_t end : documents.ends) {
            double highest = -std::numeric_limits<double>::infinity();
            for (; row < static_cast<std::size_t>(end); ++row) {
                const auto from = static_cast<std::size_t>(order_[row]);
                const std::int32_t number = of_label_[label(from)];
                highest = std::max(highest, table_.value[from]);
                if (number < 0) continue;
                grade_[kept] = table_.value[from];
                nth_[kept++] = number;
            }
            out.ends.push_back(kept - begin);
            out.highest.push_back(highest);
        }
        for (const std::int32_t one : out.labels) of_label_[static_cast<std::size_t>(one)] = kAbsent;
        for (const std::int32_t one : out.empty) of_label_[static_cast<std::size_t>(one)] = kAbsent;
        return out;
    }

private:
    static constexpr std::int32_t kAbsent = -1, kEmpty = -2, kUseful = -3;

    std::size_t label(std::size_t row) const {
        return table_.label.empty() ? 0 : static_cast<std::size_t>(table_.label[row]);
    }

    // The intents of the list's rows; numbers those to which a document is relevant.
    TopicEntries intents(std::size_t begin, std::size_t end) {
        std::vector<std::int32_t> there;
        for (std::size_t row = begin; row < end; ++row) {
            std::int32_t& state = of_label_[label(row)];
            if (state == kAbsent) {
                there.push_back(static_cast<std::int32_t>(label(row)));
                state = kEmpty;
            }
            if (table_.value[row] >= 1.0) state = kUseful;
        }
        const auto place = [&](std::int32_t one) { return places_[static_cast<std::size_t>(one)]; };
        std::sort(there.begin(), there.end(), [&](std::int32_t a, std::int32_t b) { return place(a) < place(b); });
        TopicEntries out;
        for (const std::int32_t one : there) {
            std::int32_t& state = of_label_[static_cast<std::size_t>(one)];
            (state == kUseful ? out.labels : out.empty).push_back(one);
            if (state == kUseful) state = static_cast<std::int32_t>(out.labels.size() - 1);
        }
        return out;
    }

    const Table& table_;
    WholeNumbers places_;
    const LongColumn<std::int64_t>& order_;
    LongColumn<double>& grade_;
    LongColumn<std::int64_t>& nth_;
    std::vector<std::int32_t> of_label_;  // of the labels in the list at hand: which intent of the topic
};

// Documents and intents of judgments. An intent to which nothing is relevant is left out, with the entries for it. Returns
// (documents, the highest grade of each, where their entries begin; of every entry the intent and the grade; of every intent
// the list and the label; and the same of those left out).
nb::tuple py_documents_by_intent(const Table& table, const Column<std::int64_t>& place) {
    std::unique_ptr<Judged> judged;
    std::vector<double> highest;
    std::vector<std::int64_t> start{0}, lists, labels, empty_lists, empty_labels;
    LongColumn<double> grade;
    LongColumn<std::int64_t> intent;
    {
        const nb::gil_scoped_release release;
        LongColumn<std::int64_t> order;
        grade.resize(table.size()), intent.resize(table.size());
        const WholeNumbers places = span_of(place);
        if (places.size() < std::max<std::size_t>(1, table.labels.size())) throw std::invalid_argument("one place for each label");
        const unsigned threads = threads_for(table.size());
        std::vector<EntryKeeper> keepers(threads, EntryKeeper(table, places, order, grade, intent));
        std::vector<TopicEntries> kept(table.lists());
        const std::vector<TopicDocuments> found =
            find_documents(table, place, order, threads, [&](std::size_t list, const TopicDocuments& documents, unsigned thread) {
                kept[list] = keepers[thread].keep(list, documents);
            });
        judged = numbered_documents(table, found);
        for (std::size_t list = 0; list < kept.size(); ++list) {
            const TopicEntries& topic = kept[list];
            const auto from = static_cast<std::ptrdiff_t>(table.list_start[list]), to = static_cast<std::ptrdiff_t>(start.back());
            const auto many = static_cast<std::ptrdiff_t>(topic.ends.empty() ? 0 : topic.ends.back());
            if (to < from) {
                std::copy(grade.begin() + from, grade.begin() + from + many, grade.begin() + to);
                std::copy(intent.begin() + from, intent.begin() + from + many, intent.begin() + to);
            }
            for (std::ptrdiff_t entry = to; entry < to + many; ++entry)  // until now: which one of its topic
                intent[static_cast<std::size_t>(entry)] += static_cast<std::int64_t>(labels.size());
            for (const std::size_t end : topic.ends) start.push_back(to + static_cast<std::int64_t>(end));
            highest.insert(highest.end(), topic.highest.begin(), topic.highest.end());
            const auto number = static_cast<std::int64_t>(list);
            lists.insert(lists.end(), topic.labels.size(), number), empty_lists.insert(empty_lists.end(), topic.empty.size(), number);
            labels.insert(labels.end(), topic.labels.begin(), topic.labels.end());
            empty_labels.insert(empty_labels.end(), topic.empty.begin(), topic.empty.end());
        }
        const auto entries = static_cast<std::size_t>(start.back());
        grade.resize(entries), intent.resize(entries);
    }
    return nb::make_tuple(nb::cast(judged.release(), nb::rv_policy::take_ownership), to_numpy(std::move(highest)),
                          to_numpy(std::move(start)), to_numpy(std::move(intent)), to_numpy(std::move(grade)),
                          to_numpy(std::move(lists)), to_numpy(std::move(labels)),
                          to_numpy(std::move(empty_lists)), to_numpy(std::move(empty_labels)));
}

}  // namespace
}  // namespace cranfield
