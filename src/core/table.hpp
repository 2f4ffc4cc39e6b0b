// Runs or qrels in memory with their documents: columns, grouped by list.
#pragma once

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ids.hpp"
#include "memory.hpp"
#include "numbers.hpp"
#include "ranker.hpp"
#include "reader.hpp"

namespace cranfield {

struct Table {
    std::vector<std::string> names;   // runs; one empty name for qrels
    std::vector<std::string> tags;    // the different tags in the files of runs
    std::vector<std::int32_t> sources;  // the file that each name comes from
    std::vector<std::string> topics;  // in order of first appearance
    std::vector<std::string> labels;  // column 2: Q0, iteration or intent
    std::vector<std::int32_t> list_name, list_topic;
    std::vector<std::int64_t> list_start{0};

    LongColumn<char> arena;
    LongColumn<Id> doc;
    NumberColumn value;
    LongColumn<double> rank;          // empty if the file has no such column
    LongColumn<std::int32_t> label;   // empty if all lines have the same label
    LongColumn<std::int64_t> line;    // the line of each entry in its file; empty unless it is kept
    std::size_t dropped = 0;           // duplicates
    std::vector<Fault> faults;
    std::vector<Oddity> odd;           // numbers that may not be what their author meant

    std::size_t size() const { return doc.size(); }
    std::size_t lists() const { return list_name.size(); }
    std::string_view id(std::size_t i) const { return doc[i].in(arena.data()); }
};

// Builds a table list by list.
class TableBuilder {
public:
    Table table;

    std::int32_t name(std::string_view text, std::int32_t source = 0) {
        table.names.emplace_back(text);
        table.sources.push_back(source);
        return static_cast<std::int32_t>(table.names.size() - 1);
    }
    std::int32_t topic(std::string_view text) { return number(text, topic_number_, table.topics); }
    std::int32_t label(std::string_view text) { return number(text, label_number_, table.labels); }

    void add(std::string_view id, double value) {
        table.doc.push_back(Id::make(table.arena.size(), id.size()));
        table.arena.insert(table.arena.end(), id.begin(), id.end());
        table.value.push_back(value);
    }
    // Ends a list whose entries were added one by one.
    void end_list(std::int32_t name, std::int32_t topic) {
        end_list(name, topic, table.value.size() - static_cast<std::size_t>(table.list_start.back()));
    }
    void end_list(std::int32_t name, std::int32_t topic, std::size_t entries) {
        table.list_name.push_back(name);
        table.list_topic.push_back(topic);
        table.list_start.push_back(table.list_start.back() + static_cast<std::int64_t>(entries));
    }
    Table finish() {
        if (table.labels.size() <= 1) table.label = {};
        return std::move(table);
    }

private:
    static std::int32_t number(std::string_view text, TextNumbers& numbers, std::vector<std::string>& names) {
        if (const auto known = numbers.find(text); known != numbers.end()) return known->second;
        const auto fresh = static_cast<std::int32_t>(names.size());
        numbers.emplace(std::string(text), fresh);
        names.emplace_back(text);
        return fresh;
    }

    TextNumbers topic_number_, label_number_;
};

// One entry of a list, before duplicates are resolved.
struct Kept {
    std::string_view id;
    double value, rank;
    std::int32_t label;
    std::size_t place;       // offset or row, for messages
    std::size_t source = 0;  // file
};

// An entry that repeats an earlier one of its list.
struct Repeat {
    Kept first, again;
    std::string_view topic;

    bool operator<(const Repeat& other) const {
        return std::pair(again.source, again.place) < std::pair(other.again.source, other.again.place);
    }
};

// The first repeats in file order, at most `most` of them; in a file of repeats, all of them take too much memory.
// Threads add to it.
class FirstRepeats {
public:
    explicit FirstRepeats(std::size_t most) : most_(most) {}

    void add(const Repeat& repeat) {
        const std::lock_guard lock(mutex_);
        if (found_.size() >= 2 * most_ + 100) drop_last();
        found_.push_back(repeat);
    }
    const std::vector<Repeat>& sorted() {
        drop_last();
        std::sort(found_.begin(), found_.end());
        return found_;
    }

private:
    void drop_last() {
        if (found_.size() <= most_) return;
        std::nth_element(found_.begin(), found_.begin() + static_cast<std::ptrdiff_t>(most_), found_.end());
        found_.resize(most_);
    }

    std::size_t most_;
    std::mutex mutex_;
    std::vector<Repeat> found_;
};

// Resolves duplicates (same id and, if labels count, same label) among the entries of one list, in place. With the rule
// `error`, `repeated` gets the first entry, which is kept, and each one that repeats it.
template <class Repeated>
void settle_duplicates(std::vector<Kept>& list, OnDuplicate rule, bool labels_count, IdTable& seen, const Repeated& repeated,
                       std::size_t& dropped) {
    seen.reset(list.size());
    std::size_t kept = 0;
    std::string_view last;
    std::uint64_t last_hash = hash_id(last);
    for (std::size_t i = 0; i < list.size(); ++i) {
        const Kept entry = list[i];
        if (!same_text(entry.id, last)) last_hash = hash_id(last = entry.id);
        const std::uint64_t label = labels_count ? static_cast<std::uint64_t>(entry.label) : 0;
        const std::uint64_t hash = last_hash ^ (label * 0x9e3779b97f4a7c15ULL);
        const std::int32_t earlier = seen.find_or_add(hash, static_cast<std::int32_t>(kept), [&](std::int32_t other) {
            const Kept& that = list[static_cast<std::size_t>(other)];
            return (!labels_count || that.label == entry.label) && same_text(that.id, entry.id);
        });
        if (earlier < 0) {
            list[kept++] = entry;
            continue;
        }
        Kept& first = list[static_cast<std::size_t>(earlier)];
        if (rule == OnDuplicate::error)
            repeated(first, entry);
        else if (rule == OnDuplicate::max && entry.value > first.value) {
            first.value = entry.value;
            first.rank = entry.rank;
        }
        ++dropped;
    }
    list.resize(kept);
}

// The shortest text that reads back as the same number.
inline std::string shown_number(double value) {
    char buffer[32];
#if !defined(CRANFIELD_STRTOD)
    const auto written = std::to_chars(buffer, buffer + sizeof buffer, value);
    return {buffer, written.ptr};
#else
    for (const int digits : {6, 15, 16, 17}) {
        std::snprintf(buffer, sizeof buffer, "%.*g", digits, value);
        if (parse_number(buffer) == value) break;
    }
    return buffer;
#endif
}

// The message about a document that appears again, and its end, which shows two grades if they differ.
inline std::string repeat_message(std::string_view doc, std::string_view topic, std::size_t first_line) {
    return "document " + quoted(doc) + " appears twice for topic " + quoted(topic) + ", first on line " + std::to_string(first_line);
}
inline std::string grades_message(double first, double again) {
    return first == again ? "" : ", with grades " + shown_number(first) + " and " + shown_number(again);
}

// The faults of entries that repeat earlier ones, in file order.
inline std::vector<Fault> repeat_faults(FirstRepeats& repeats, const std::vector<Source>& sources, bool qrels,
                                        const std::vector<std::vector<std::string>>& tags) {
    LineIndexes lines(sources);
    std::vector<Fault> faults;
    for (const auto& [first, again, topic] : repeats.sorted()) {
        std::string what = repeat_message(again.id, topic, lines.line(first.source, first.place));
        if (first.source != again.source) what += " of file " + std::to_string(first.source + 1);
        if (qrels) what += grades_message(first.value, again.value);
        if (!tags.empty()) what += among_tags(tags[again.source]);
        faults.push_back({again.source, again.place, std::move(what)});
    }
    return faults;
}

// Collects the entries of a list in file order; `labels` has the numbers of each chunk's labels.
inline void gather(const List& where, const std::vector<Chunk>& chunks, const std::vector<std::vector<std::int32_t>>& labels,
                   const std::vector<Source>& sources, std::vector<Kept>& out) {
    out.clear();
    out.reserve(where.size);
    for (const auto& [c, b] : where.blocks) {
        const Chunk& chunk = chunks[c];
        const Block& block = chunk.blocks[b];
        const std::string_view bytes = sources[chunk.source];
        for (std::size_t i = block.first; i < block.first + block.count; ++i)
            out.push_back({chunk.entries[i].doc.in(bytes.data()), chunk.entries[i].key,
                           chunk.ranks.empty() ? 0.0 : chunk.ranks[i],
                           chunk.label.empty() ? 0 : labels[c][static_cast<std::size_t>(chunk.label[i])],
                           chunk.entries[i].doc.offset(), chunk.source});
    }
}

// Releases the bytes of lists that are done, many at a time. Most files have their lists one after the other.
class DoneBytes {
public:
    void through(const List& list, const std::vector<Chunk>& chunks, const std::vector<Source>& sources, const ReadOptions& options) {
        if (list.blocks.empty()) return;
        const auto [c, b] = list.blocks.back();
        const Chunk& chunk = chunks[c];
        const Block& block = chunk.blocks[b];
        if (block.count == 0) return;
        const std::size_t end = chunk.entries[block.first + block.count - 1].doc.offset();
        if (chunk.source != source_) source_ = chunk.source, from_ = 0;
        if (end < from_ + kWorthIt) return;
        options.release(source_, sources[source_].substr(from_, end - from_));
        from_ = end;
    }

private:
    static constexpr std::size_t kWorthIt = std::size_t{1} << 20;
    std::size_t source_ = 0, from_ = 0;
};

// The rows of one list: where they begin if no row of the lists before it is dropped, and how many are kept.
struct KeptRows {
    std::size_t first = 0, kept = 0;
};

// One list after reading: its place in the columns.
struct Settled : KeptRows {
    std::size_t first_byte = 0;  // as `first`
    std::size_t dropped = 0;
};

// Fills the columns of a table. A list goes where it stands if no entry of the lists before it is dropped.
class ColumnFiller {
public:
    ColumnFiller(Table& table, const std::vector<Source>& sources, const Layout& layout, bool keep_lines)
        : table_(table), lines_(sources), rank_(layout.rank >= 0), label_(layout.label >= 0), line_(keep_lines) {
        if (line_) lines_.make_all();
    }

    void resize(std::size_t entries, std::size_t id_bytes) {
        table_.arena.resize(id_bytes);
        resize(entries);
    }

    void fill(const Settled& list, const std::vector<Kept>& entries) {
        std::size_t at = list.first, byte = list.first_byte;
        RisingLines lines(lines_);
        for (const Kept& entry : entries) {
            std::memcpy(table_.arena.data() + byte, entry.id.data(), entry.id.size());
            table_.doc[at] = Id::make(byte, entry.id.size());
            byte += entry.id.size();
            table_.value.set(at, entry.value);
            if (rank_) table_.rank[at] = entry.rank;
            if (label_) table_.label[at] = entry.label;
            if (line_) table_.line[at] = static_cast<std::int64_t>(lines.line(entry.source, entry.place));
            ++at;
        }
    }

private:
    void resize(std::size_t entries) {
        table_.doc.resize(entries);
        table_.value.resize(entries);
        if (rank_) table_.rank.resize(entries);
        if (label_) table_.label.resize(entries);
        if (line_) table_.line.resize(entries);
    }

    Table& table_;
    LineIndexes lines_;
    bool rank_, label_, line_;
};

// Closes the gaps that dropped entries leave.
template <typename Rows>
void close_gaps(Table& table, const std::vector<Rows>& lists) {
    const auto close = [&](auto& column) {
        if (column.empty()) return;
        std::size_t filled = 0;
        for (const KeptRows& list : lists) {
            const auto from = column.begin() + static_cast<std::ptrdiff_t>(list.first);
            if (filled != list.first)
                std::copy(from, from + static_cast<std::ptrdiff_t>(list.kept), column.begin() + static_cast<std::ptrdiff_t>(filled));
            filled += list.kept;
        }
        column.resize(filled);
    };
    close(table.doc), close(table.rank), close(table.label), close(table.line);
    table.value.in_use(close);
}

// For each chunk and each of its labels, the number of the label in the table.
inline std::vector<std::vector<std::int32_t>> label_numbers(const std::vector<Chunk>& chunks, TableBuilder& builder) {
    std::vector<std::vector<std::int32_t>> numbers(chunks.size());
    for (std::size_t c = 0; c < chunks.size(); ++c)
        for (const std::string_view label : chunks[c].labels) numbers[c].push_back(builder.label(label));
    return numbers;
}

// Where each list begins, in entries and in bytes of ids; the last element is the end of the last list.
inline std::vector<Settled> place_lists(const Lists& grouped, const std::vector<Chunk>& chunks) {
    std::vector<Settled> lists(grouped.lists.size() + 1);
    for (std::size_t l = 0; l < grouped.lists.size(); ++l) {
        std::size_t bytes = 0;
        for (const auto& [c, b] : grouped.lists[l].blocks) {
            const Block& block = chunks[c].blocks[b];
            for (std::size_t i = block.first; i < block.first + block.count; ++i) bytes += chunks[c].entries[i].doc.length();
        }
        lists[l + 1].first = lists[l].first + grouped.lists[l].size;
        lists[l + 1].first_byte = lists[l].first_byte + bytes;
    }
    return lists;
}

// Reads files into a table, which also holds the faults in file order, at most `most_faults` of them. Runs are one per file,
// or one per tag (`split_tags`); a document is judged once per topic, or once per topic and label (`labels_count`).
inline Table read_table(const std::vector<Source>& sources, const ReadOptions& options, bool qrels, OnDuplicate rule,
                        bool keep_lines, bool split_tags, bool labels_count) {
    Lines lines = read_lines(sources, options);
    TableBuilder builder;
    const Lists grouped = group(lines.chunks, sources.size(), qrels ? Group::by_topic : split_tags ? Group::by_tag : Group::by_source);
    if (qrels) builder.name("");
    for (const auto& [source, name] : grouped.runs) builder.name(name, static_cast<std::int32_t>(source));
    for (const std::string& topic : grouped.topics) builder.topic(topic);

    Table& table = builder.table;
    for (const auto& tags : grouped.tags) table.tags.insert(table.tags.end(), tags.begin(), tags.end());
    const std::vector<std::vector<std::int32_t>> labels = label_numbers(lines.chunks, builder);
    std::vector<Settled> lists = place_lists(grouped, lines.chunks);
    ColumnFiller columns(table, sources, options.layout, keep_lines);
    columns.resize(lists.back().first, lists.back().first_byte);
    lists.pop_back();
    struct Scratch {
        std::vector<Kept> entries;
        IdTable seen;
        DoneBytes done;
    };
    FirstRepeats repeats(options.most_faults);
    std::vector<Scratch> scratch(std::clamp<std::size_t>(lists.size(), 1, std::max(1u, options.threads)));
    parallel_for(lists.size(), options.threads, {}, [&](std::size_t l, unsigned thread) {
        auto& [entries, seen, done] = scratch[thread];
        gather(grouped.lists[l], lines.chunks, labels, sources, entries);
        const std::string_view topic = grouped.topics[static_cast<std::size_t>(grouped.lists[l].topic)];
        const auto repeated = [&](const Kept& first, const Kept& again) { repeats.add({first, again, topic}); };
        settle_duplicates(entries, rule, qrels && labels_count, seen, repeated, lists[l].dropped);
        lists[l].kept = entries.size();
        columns.fill(lists[l], entries);
        if (options.release) done.through(grouped.lists[l], lines.chunks, sources, options);
    });
    for (std::size_t l = 0; l < lists.size(); ++l) {
        const List& where = grouped.lists[l];
        table.dropped += lists[l].dropped;
        builder.end_list(where.run, where.topic, lists[l].kept);
    }
    if (table.dropped > 0) close_gaps(table, lists);
    add_oddities(lines.chunks, table.odd);
    if (!table.odd.empty()) {
        LineIndexes at(sources);
        for (Oddity& one : table.odd) one.line = at.line(one.source, one.offset);
    }
    table.faults = collect_faults(lines.chunks, options.most_faults);
    table.faults.insert(table.faults.end(), grouped.faults.begin(), grouped.faults.end());
    const auto unsplit_tags = split_tags ? std::vector<std::vector<std::string>>{} : grouped.tags;
    for (Fault& fault : repeat_faults(repeats, sources, qrels, unsplit_tags)) table.faults.push_back(std::move(fault));
    std::stable_sort(table.faults.begin(), table.faults.end(), [](const Fault& a, const Fault& b) {
        return std::pair(a.source, a.offset) < std::pair(b.source, b.offset);
    });
    if (table.faults.size() > options.most_faults) table.faults.resize(options.most_faults);
    return builder.finish();
}

// Some rows of a table as a new table, under one name. Rows of one list must follow one another.
inline Table take_rows(const Table& table, const std::int64_t* rows, std::size_t count, std::string_view name) {
    TableBuilder builder;
    builder.name(name);
    std::size_t list = table.lists();
    std::vector<bool> ended(table.lists(), false);
    const auto end_list = [&] {
        if (list == table.lists()) return;
        ended[list] = true;
        builder.end_list(0, builder.topic(table.topics[static_cast<std::size_t>(table.list_topic[list])]));
    };
    const std::string only_label = table.label.empty() && table.labels.size() == 1 ? table.labels[0] : "";
    if (table.labels.size() == 1) builder.label(only_label);
    for (std::size_t i = 0; i < count; ++i) {
        if (rows[i] < 0 || static_cast<std::size_t>(rows[i]) >= table.size()) throw std::out_of_range("the table has no such row");
        const auto row = static_cast<std::size_t>(rows[i]);
        if (list == table.lists() || rows[i] < table.list_start[list] || rows[i] >= table.list_start[list + 1]) {
            end_list();
            const auto after = std::upper_bound(table.list_start.begin(), table.list_start.end(), rows[i]);
            list = static_cast<std::size_t>(after - table.list_start.begin()) - 1;
            if (ended[list]) throw std::invalid_argument("the rows of one list must follow one another");
        }
        builder.add(table.id(row), table.value[row]);
        if (!table.rank.empty()) builder.table.rank.push_back(table.rank[row]);
        if (!table.label.empty())
            builder.table.label.push_back(builder.label(table.labels[static_cast<std::size_t>(table.label[row])]));
        if (!table.line.empty()) builder.table.line.push_back(table.line[row]);
    }
    end_list();
    return builder.finish();
}

}  // namespace cranfield
