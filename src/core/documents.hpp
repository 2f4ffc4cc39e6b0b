// Judged documents, each once, with their grades for each intent.
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

using WholeNumbers = std::span<const std::int64_t>;

// As many threads as the machine has, but only one for a few thousand entries.
inline unsigned threads_for(std::size_t entries) {
    constexpr std::size_t kWorthAThread = 1 << 14;
    return static_cast<unsigned>(std::min<std::size_t>(entries / kWorthAThread + 1, std::max(1u, std::thread::hardware_concurrency())));
}

// The documents of one topic in order of their ids, which are in the table; `ends` has the row after the last row of each,
// `grades` its highest grade.
struct TopicDocuments {
    std::vector<Id> ids;
    std::vector<std::int64_t> ends;
    std::vector<double> grades;
};

// Finds the documents among the rows of one list.
class DocumentFinder {
public:
    DocumentFinder(const Table& table, WholeNumbers places) : table_(table), places_(places) {}

    // Writes the rows, sorted by document and then by the place of their intent, to `order`.
    TopicDocuments find(std::size_t list, std::int64_t* order) {
        order_ = order;
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
            if (row > begin_ && same_text(id, table_.id(row - 1))) {  // the lines of a document often follow one another
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
        out.ids.reserve(ids_.size()), out.ends.reserve(ids_.size());
        std::vector<std::int32_t> by_id(ids_.size());
        for (std::size_t i = 0; i < ids_.size(); ++i) by_id[i] = static_cast<std::int32_t>(i);
        const auto id_of = [&](std::int32_t i) { return ids_[static_cast<std::size_t>(i)]; };
        std::sort(by_id.begin(), by_id.end(), [&](std::int32_t a, std::int32_t b) { return id_of(a) < id_of(b); });
        std::vector<std::int32_t> number(ids_.size());
        for (std::size_t i = 0; i < by_id.size(); ++i) {
            number[static_cast<std::size_t>(by_id[i])] = static_cast<std::int32_t>(i);
            out.ids.push_back(Id::at(table_.arena.data(), id_of(by_id[i])));
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
        out.grades.assign(ids_.size(), -std::numeric_limits<double>::infinity());
        for (std::size_t row = begin_; row < end_; ++row) {
            const auto number = static_cast<std::size_t>(document(row));
            order_[next[number]++ - begin_] = static_cast<std::int64_t>(row);
            out.grades[number] = std::max(out.grades[number], table_.value[row]);
        }
    }

    void sort_intents(const TopicDocuments& out) {
        std::int64_t* from = order_;
        for (const std::int64_t end : out.ends) {
            std::int64_t* const to = order_ + (static_cast<std::size_t>(end) - begin_);
            const auto before = [&](std::int64_t a, std::int64_t b) { return place(a) < place(b); };
            if (!std::is_sorted(from, to, before)) std::stable_sort(from, to, before);
            from = to;
        }
    }

    const Table& table_;
    WholeNumbers places_;
    std::int64_t* order_ = nullptr;  // of the list at hand
    std::size_t begin_ = 0, end_ = 0;
    IdTable seen_;
    std::vector<std::string_view> ids_;
    std::vector<std::int32_t> of_row_;
};

// Finds the documents of every list with several threads: find(list, finder, thread) returns those of a list.
template <typename Find>
std::vector<TopicDocuments> find_documents(const Table& table, WholeNumbers places, unsigned threads, const Find& find) {
    if (!table.label.empty() && places.size() != table.labels.size()) throw std::invalid_argument("one place for each label");
    std::vector<DocumentFinder> finders(threads, DocumentFinder(table, places));
    std::vector<TopicDocuments> found(table.lists());
    parallel_for(table.lists(), threads, {},
                 [&](std::size_t list, unsigned thread) { found[list] = find(list, finders[thread], thread); });
    return found;
}

// Documents ready to be joined, numbered topic by topic in order of their ids. The ids stay in the table, which must live as
// long as the result.
inline std::unique_ptr<Judged> numbered_documents(const Table& table, const std::vector<TopicDocuments>& found) {
    auto judged = std::make_unique<Judged>();
    judged->topics = table.topics;
    std::size_t documents = 0;
    for (const TopicDocuments& topic : found) documents += topic.ids.size();
    judged->grade.reserve(documents);
    judged->index = JudgedIndex(table.arena.data());
    judged->index.reserve(documents, table.lists());
    judged->index.own_ids(documents);
    for (std::size_t l = 0; l < table.lists(); ++l) {
        judged->index.begin_topic(table.topics[static_cast<std::size_t>(table.list_topic[l])], found[l].ids.size());
        for (const Id id : found[l].ids) judged->index.add(id);
        for (const double grade : found[l].grades) judged->grade.push_back(grade);
        judged->start.push_back(static_cast<std::int64_t>(judged->grade.size()));
    }
    return judged;
}

// Every document once, for however many intents it is judged.
struct ByDocument {
    std::unique_ptr<Judged> judged;
    LongColumn<std::int64_t> order;      // the rows, sorted by document and intent
    std::vector<std::int64_t> start{0};  // where the rows of each document begin
};

// `places` has one number for each label: intents are sorted by it.
inline ByDocument by_document(const Table& table, WholeNumbers places) {
    ByDocument out;
    out.order.resize(table.size());
    const std::vector<TopicDocuments> found =
        find_documents(table, places, threads_for(table.size()), [&](std::size_t list, DocumentFinder& finder, unsigned) {
            return finder.find(list, out.order.data() + table.list_start[list]);
        });
    out.judged = numbered_documents(table, found);
    for (const TopicDocuments& topic : found) out.start.insert(out.start.end(), topic.ends.begin(), topic.ends.end());
    return out;
}

// The intents of one topic, and the entries that are kept: those for intents with a relevant document.
struct TopicEntries {
    std::vector<std::int32_t> labels, empty;  // intents with and without a relevant document, both in order
    std::vector<std::size_t> ends;            // running number of entries, up to and including each document
    };

// Writes the entries of a list to the columns of all lists, at the place where they stand if no entry is left out.
class EntryKeeper {
public:
    EntryKeeper(const Table& table, WholeNumbers places, LongColumn<double>& grade, LongColumn<std::int64_t>& nth)
        : table_(table), places_(places), grade_(grade), nth_(nth),
          of_label_(std::max<std::size_t>(1, table.labels.size()), kAbsent) {}

    // `order` has the rows of the list, sorted by document and intent.
    TopicEntries keep(std::size_t list, const TopicDocuments& documents, const std::vector<std::int64_t>& order) {
        const auto begin = static_cast<std::size_t>(table_.list_start[list]);
        TopicEntries out = intents(begin, static_cast<std::size_t>(table_.list_start[list + 1]));
        std::size_t row = begin, kept = begin;
        for (const std::int64_t end : documents.ends) {
            for (; row < static_cast<std::size_t>(end); ++row) {
                const auto from = static_cast<std::size_t>(order[row - begin]);
                const std::int32_t number = of_label_[label(from)];
                if (number < 0) continue;
                grade_[kept] = table_.value[from];
                nth_[kept++] = number;
            }
            out.ends.push_back(kept - begin);
        }
        for (const std::int32_t label : out.labels) of_label_[static_cast<std::size_t>(label)] = kAbsent;
        for (const std::int32_t label : out.empty) of_label_[static_cast<std::size_t>(label)] = kAbsent;
        return out;
    }

private:
    static constexpr std::int32_t kAbsent = -1, kEmpty = -2, kUseful = -3;

    std::size_t label(std::size_t row) const {
        return table_.label.empty() ? 0 : static_cast<std::size_t>(table_.label[row]);
    }

    // The intents of the list's rows; numbers those with a relevant document.
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
    LongColumn<double>& grade_;
    LongColumn<std::int64_t>& nth_;
    std::vector<std::int32_t> of_label_;  // label -> number of the intent within the topic, for the list at hand
};

// Documents and intents of judgments. Intents without a relevant document are left out, together with their entries.
struct DocumentsByIntent {
    std::unique_ptr<Judged> judged;
    std::vector<std::int64_t> start{0};                     // where the entries of each document begin
    LongColumn<std::int64_t> intent;                        // of each entry
    LongColumn<double> grade;                               // of each entry
    std::vector<std::int64_t> lists, labels;                // of each intent
    std::vector<std::int64_t> empty_lists, empty_labels;    // of each intent that is left out
};

inline DocumentsByIntent documents_by_intent(const Table& table, WholeNumbers places) {
    DocumentsByIntent out;
    auto& [judged, start, intent, grade, lists, labels, empty_lists, empty_labels] = out;
    grade.resize(table.size()), intent.resize(table.size());
    if (places.size() < std::max<std::size_t>(1, table.labels.size())) throw std::invalid_argument("one place for each label");
    const unsigned threads = threads_for(table.size());
    std::vector<EntryKeeper> keepers(threads, EntryKeeper(table, places, grade, intent));
    std::vector<std::vector<std::int64_t>> orders(threads);
    std::vector<TopicEntries> kept(table.lists());
    judged = numbered_documents(
        table, find_documents(table, places, threads, [&](std::size_t list, DocumentFinder& finder, unsigned thread) {
            std::vector<std::int64_t>& order = orders[thread];
            order.resize(static_cast<std::size_t>(table.list_start[list + 1] - table.list_start[list]));
            TopicDocuments documents = finder.find(list, order.data());
            kept[list] = keepers[thread].keep(list, documents, order);
            return documents;
        }));
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
        const auto number = static_cast<std::int64_t>(list);
        lists.insert(lists.end(), topic.labels.size(), number), empty_lists.insert(empty_lists.end(), topic.empty.size(), number);
        labels.insert(labels.end(), topic.labels.begin(), topic.labels.end());
        empty_labels.insert(empty_labels.end(), topic.empty.begin(), topic.empty.end());
    }
    const auto entries = static_cast<std::size_t>(start.back());
    grade.resize(entries), intent.resize(entries);
    return out;
}

}  // namespace cranfield
