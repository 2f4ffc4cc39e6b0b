// A table from rows that come one after the other, in any order of lists.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "table.hpp"

namespace cranfield {

// The message about a row that repeats an earlier one.
struct RepeatedRow : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// Rows go to the columns of the table at once. Lists are numbered in order of first appearance, so that rows whose list
// numbers never fall are in order already; others are put in order at the end.
class RowsInOrder {
public:
    TableBuilder builder;
    bool ranked = false, labelled = false;

    std::size_t size() const { return list_.size(); }

    std::int32_t name(std::string_view text) {
        if (const auto known = names_.find(text); known != names_.end()) return known->second;
        const std::int32_t fresh = builder.name(text);
        names_.emplace(std::string(text), fresh);
        return fresh;
    }

    // The rows that follow belong to this list.
    void go_to_list(std::int32_t name, std::string_view topic) {
        const std::int32_t number = builder.topic(topic);
        const std::uint64_t key = (static_cast<std::uint64_t>(name) << 32) | static_cast<std::uint32_t>(number);
        const auto [found, fresh] = numbers_.try_emplace(key, static_cast<std::int32_t>(lists_.size()));
        if (fresh) lists_.push_back({name, number});
        current_ = found->second;
    }

    void add(std::string_view id, double value, double rank, std::int32_t label) {
        builder.add(id, value);
        if (ranked) builder.table.rank.push_back(rank);
        if (labelled) builder.table.label.push_back(label);
        list_.push_back(current_);
    }

    // The table; nothing can be added afterwards. A repeat is an error, unless the rule says which row is kept.
    Table finish(OnDuplicate rule) {
        const std::vector<std::size_t> starts = starts_of_lists();
        const std::vector<std::size_t> rows = put_in_order(starts);
        list_ = {};
        settle(rule, starts, rows);
        return builder.finish();
    }

private:
    struct ListOf {
        std::int32_t name, topic;
    };

    std::vector<std::size_t> starts_of_lists() const {
        std::vector<std::size_t> starts(lists_.size() + 1, 0);
        for (const std::int32_t list : list_) ++starts[static_cast<std::size_t>(list) + 1];
        for (std::size_t l = 0; l < lists_.size(); ++l) starts[l + 1] += starts[l];
        return starts;
    }

    // Moves the rows of each list together; for each place, the row that is there now. Empty if they were together.
    std::vector<std::size_t> put_in_order(const std::vector<std::size_t>& starts) {
        if (std::is_sorted(list_.begin(), list_.end())) return {};
        std::vector<std::size_t> next(starts.begin(), starts.end() - 1), rows(list_.size());
        for (std::size_t row = 0; row < list_.size(); ++row) rows[next[static_cast<std::size_t>(list_[row])]++] = row;
        Table& table = builder.table;
        const auto move = [&rows](auto& column) {
            if (column.empty()) return;
            auto moved = column;
            for (std::size_t at = 0; at < rows.size(); ++at) moved[at] = column[rows[at]];
            column = std::move(moved);
        };
        move(table.doc), move(table.rank), move(table.label);
        table.value.in_use(move);
        return rows;
    }

    // Settles duplicates list by list, and closes the gaps of rows that are dropped.
    void settle(OnDuplicate rule, const std::vector<std::size_t>& starts, const std::vector<std::size_t>& rows) {
        Table& table = builder.table;
        IdTable seen;
        std::vector<Kept> entries;
        std::size_t filled = 0;
        for (std::size_t l = 0; l < lists_.size(); ++l) {
            entries.clear();
            for (std::size_t at = starts[l]; at < starts[l + 1]; ++at)
                entries.push_back({table.id(at), table.value[at], ranked ? table.rank[at] : 0.0, labelled ? table.label[at] : 0,
                                   rows.empty() ? at : rows[at]});
            const auto repeated = [&](const Kept& first, const Kept& again) {
                throw RepeatedRow("row " + std::to_string(again.place + 1) + ": document " + quoted(again.id) +
                                  " appears twice for topic " + quoted(table.topics[static_cast<std::size_t>(lists_[l].topic)]) +
                                  ", first in row " + std::to_string(first.place + 1));
            };
            settle_duplicates(entries, rule, true, seen, repeated, table.dropped);
            const bool as_it_is = filled == starts[l] && entries.size() == starts[l + 1] - starts[l];
            for (std::size_t at = 0; at < entries.size() && !as_it_is; ++at) {
                table.doc[filled + at] = Id::at(table.arena.data(), entries[at].id);
                table.value.set(filled + at, entries[at].value);
                if (ranked) table.rank[filled + at] = entries[at].rank;
                if (labelled) table.label[filled + at] = entries[at].label;
            }
            filled += entries.size();
            builder.end_list(lists_[l].name, lists_[l].topic, entries.size());
        }
        table.doc.resize(filled), table.value.resize(filled);
        if (ranked) table.rank.resize(filled);
        if (labelled) table.label.resize(filled);
    }

    std::unordered_map<std::string, std::int32_t, TextHash, std::equal_to<>> names_;
    std::unordered_map<std::uint64_t, std::int32_t> numbers_;  // of (name, topic)
    std::vector<ListOf> lists_;
    LongColumn<std::int32_t> list_;  // of each row
    std::int32_t current_ = 0;
};

}  // namespace cranfield
