// Run or qrels kept in memory with their documents: columns, grouped by list.
#pragma once

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ids.hpp"
#include "join.hpp"
#include "reader.hpp"

namespace cranfield {

struct Table {
    std::vector<std::string> names;   // runs (by tag); one empty name for qrels
    std::vector<std::int32_t> sources;  // which file each name came from
    std::vector<std::string> topics;  // in order of first appearance
    std::vector<std::string> labels;  // column 2: Q0, iteration or intent
    std::vector<std::int32_t> list_name, list_topic;
    std::vector<std::int64_t> list_start{0};

    std::vector<char> arena;
    std::vector<Id> doc;
    std::vector<double> value;
    std::vector<double> rank;          // empty if there is no such column
    std::vector<std::int32_t> label;   // empty if every line has the same
    std::vector<std::int64_t> line;    // if asked for: which line of its file each entry is on
    std::size_t dropped = 0;           // duplicates passed over on reading
    std::vector<Fault> faults;

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
    // In a file by intent most labels are that of the line before, or the one after it.
    std::int32_t label(std::string_view text) {
        for (const std::size_t likely : {last_label_, last_label_ + 1})
            if (likely < table.labels.size() && table.labels[likely] == text) {
                last_label_ = likely;
                return static_cast<std::int32_t>(likely);
            }
        const std::int32_t found = number(text, label_number_, table.labels);
        last_label_ = static_cast<std::size_t>(found);
        return found;
    }

    void add(std::string_view id, double value) {
        table.doc.push_back({table.arena.size() | (static_cast<std::uint64_t>(id.size()) << 48)});
        table.arena.insert(table.arena.end(), id.begin(), id.end());
        table.value.push_back(value);
    }
    void end_list(std::int32_t name, std::int32_t topic) {
        table.list_name.push_back(name);
        table.list_topic.push_back(topic);
        table.list_start.push_back(static_cast<std::int64_t>(table.value.size()));
    }
    Table finish() {
        table.arena.shrink_to_fit();
        if (table.labels.size() <= 1) table.label.clear();
        return std::move(table);
    }

private:
    using Numbers = std::unordered_map<std::string, std::int32_t>;
    static std::int32_t number(std::string_view text, Numbers& numbers, std::vector<std::string>& names) {
        const auto [found, fresh] = numbers.try_emplace(std::string(text), static_cast<std::int32_t>(names.size()));
        if (fresh) names.emplace_back(text);
        return found->second;
    }

    Numbers topic_number_, label_number_;
    std::size_t last_label_ = 0;
};

// One entry of a list before duplicates are settled.
struct Kept {
    std::string_view id;
    double value, rank;
    std::int32_t label;
    std::size_t place;      // offset or row, to say where it stood
    std::size_t source = 0;  // in which file
};

struct Repeat {
    Kept first, again;
};

// Settles duplicates (same id and, where labels count, same label) among the entries of one list, in place, by the
// rule given. With the rule `error` every repeat is reported and the first is kept.
inline void settle_duplicates(std::vector<Kept>& list, OnDuplicate rule, bool labels_count, IdTable& seen,
                              std::vector<Repeat>& repeats, std::size_t& dropped) {
    seen.reset(list.size());
    std::size_t kept = 0;
    std::string_view last;
    std::uint64_t last_hash = hash_id(last);
    for (std::size_t i = 0; i < list.size(); ++i) {
        const Kept entry = list[i];
        if (entry.id != last) last_hash = hash_id(last = entry.id);
        const std::uint64_t label = labels_count ? static_cast<std::uint64_t>(entry.label) : 0;
        const std::uint64_t hash = last_hash ^ (label * 0x9e3779b97f4a7c15ULL);
        const std::int32_t earlier = seen.find_or_add(hash, static_cast<std::int32_t>(kept), [&](std::int32_t other) {
            const Kept& that = list[static_cast<std::size_t>(other)];
            return (!labels_count || that.label == entry.label) && that.id == entry.id;
        });
        if (earlier < 0) {
            list[kept++] = entry;
            continue;
        }
        Kept& first = list[static_cast<std::size_t>(earlier)];
        if (rule == OnDuplicate::error)
            repeats.push_back({first, entry});
        else if (rule == OnDuplicate::max && entry.value > first.value) {
            first.value = entry.value;
            first.rank = entry.rank;
        }
        ++dropped;
    }
    list.resize(kept);
}

inline std::string shown_number(double value) {
    char buffer[32];
    const auto written = std::to_chars(buffer, buffer + sizeof buffer, value);
    return {buffer, written.ptr};
}

// What is wrong with entries that repeat earlier ones, in file order, at most `most`.
inline std::vector<Fault> repeat_faults(std::vector<std::pair<Repeat, std::string_view>>& repeats,
                                        const std::vector<Source>& sources, bool qrels, std::size_t most) {
    std::sort(repeats.begin(), repeats.end(), [](const auto& a, const auto& b) {
        return std::pair(a.first.again.source, a.first.again.place) < std::pair(b.first.again.source, b.first.again.place);
    });
    LineIndexes lines(sources);
    std::vector<Fault> faults;
    for (const auto& [repeat, topic] : repeats) {
        if (faults.size() >= most) break;
        const Kept &first = repeat.first, &again = repeat.again;
        std::string what = "document " + quoted(again.id) + " is there twice for topic " + quoted(topic) +
                           ", first on line " + std::to_string(lines.line(first.source, first.place));
        if (first.source != again.source) what += " of file " + std::to_string(first.source + 1);
        if (qrels && first.value != again.value)
            what += ", with grades " + shown_number(first.value) + " and " + shown_number(again.value);
        faults.push_back({again.source, again.place, std::move(what)});
    }
    return faults;
}

// One list without its duplicates.
struct Settled {
    std::vector<Kept> entries;
    std::vector<Repeat> repeats;
    std::size_t dropped = 0;
};

inline Settled settle(const List& where, const std::vector<Chunk>& chunks, const std::vector<std::vector<std::int32_t>>& labels,
                      const std::vector<Source>& sources, OnDuplicate rule, bool qrels, IdTable& seen) {
    Settled out;
    out.entries.reserve(where.size);
    for (const auto& [c, b] : where.blocks) {
        const Chunk& chunk = chunks[c];
        const Block& block = chunk.blocks[b];
        const std::string_view bytes = sources[chunk.source];
        for (std::size_t i = block.first; i < block.first + block.count; ++i)
            out.entries.push_back({chunk.entries[i].doc.in(bytes.data()), chunk.entries[i].key,
                                   chunk.ranks.empty() ? 0.0 : chunk.ranks[i], labels[c].empty() ? 0 : labels[c][i],
                                   chunk.entries[i].doc.offset(), chunk.source});
    }
    settle_duplicates(out.entries, rule, qrels, seen, out.repeats, out.dropped);
    return out;
}

// The labels of every chunk as numbers, in order of first appearance.
inline std::vector<std::vector<std::int32_t>> label_numbers(const std::vector<Chunk>& chunks, TableBuilder& builder) {
    std::vector<std::vector<std::int32_t>> numbers(chunks.size());
    for (std::size_t c = 0; c < chunks.size(); ++c) {
        numbers[c].reserve(chunks[c].labels.size());
        for (const std::string_view label : chunks[c].labels) numbers[c].push_back(builder.label(label));
    }
    return numbers;
}

// How many entries are settled at a time.
constexpr std::size_t kWindow = 1 << 18;

// Reads files into a table. Faults are left in the table in file order, at most `most_faults` of them.
inline Table read_table(const std::vector<Source>& sources, ReadOptions options, bool qrels, OnDuplicate rule,
                        bool keep_lines) {
    options.keep_columns = true;
    Lines lines = read_lines(sources, options);
    TableBuilder builder;
    const Lists grouped = group(lines.chunks, sources.size(), !qrels);
    if (qrels) builder.name("");
    for (const auto& [source, name] : grouped.runs) builder.name(name, static_cast<std::int32_t>(source));
    for (const std::string& topic : grouped.topics) builder.topic(topic);

    std::size_t total = 0, id_bytes = 0;
    for (const Chunk& chunk : lines.chunks) {
        total += chunk.entries.size();
        for (const Entry& entry : chunk.entries) id_bytes += entry.doc.length();
    }
    Table& table = builder.table;
    table.arena.reserve(id_bytes);
    table.doc.reserve(total);
    table.value.reserve(total);
    if (options.layout.rank >= 0) table.rank.reserve(total);
    if (options.layout.label >= 0) table.label.reserve(total);
    LineIndexes line_indexes(sources);
    std::vector<std::pair<Repeat, std::string_view>> all_repeats;
    const std::vector<std::vector<std::int32_t>> labels = label_numbers(lines.chunks, builder);
    // Lists are settled side by side, a window of them at a time: all at once would take several times the file.
    for (std::size_t begin = 0; begin < grouped.lists.size();) {
        std::size_t end = begin, entries = 0;
        while (end < grouped.lists.size() && (entries < kWindow || end == begin)) entries += grouped.lists[end++].size;
        std::vector<Settled> window(end - begin);
        std::vector<IdTable> seen(std::max(1u, options.threads));
        parallel_for(window.size(), options.threads, {}, [&](std::size_t piece, unsigned thread) {
            window[piece] = settle(grouped.lists[begin + piece], lines.chunks, labels, sources, rule, qrels, seen[thread]);
        });
        for (std::size_t piece = 0; piece < window.size(); ++piece) {
            const List& where = grouped.lists[begin + piece];
            const Settled& settled = window[piece];
            table.dropped += settled.dropped;
            for (const Repeat& repeat : settled.repeats)
                all_repeats.emplace_back(repeat, grouped.topics[static_cast<std::size_t>(where.topic)]);
            for (const Kept& entry : settled.entries) {
                builder.add(entry.id, entry.value);
                if (options.layout.rank >= 0) table.rank.push_back(entry.rank);
                if (options.layout.label >= 0) table.label.push_back(entry.label);
                if (keep_lines)
                    table.line.push_back(static_cast<std::int64_t>(line_indexes.line(entry.source, entry.place)));
            }
            builder.end_list(where.run, where.topic);
        }
        begin = end;
    }
    table.faults = collect_faults(lines.chunks, options.most_faults);
    table.faults.insert(table.faults.end(), grouped.faults.begin(), grouped.faults.end());
    for (Fault& fault : repeat_faults(all_repeats, sources, qrels, options.most_faults)) table.faults.push_back(std::move(fault));
    std::stable_sort(table.faults.begin(), table.faults.end(), [](const Fault& a, const Fault& b) {
        return std::pair(a.source, a.offset) < std::pair(b.source, b.offset);
    });
    if (table.faults.size() > options.most_faults) table.faults.resize(options.most_faults);
    return builder.finish();
}

// Some rows of a table as a table of their own, under one name. Rows of one list must follow each other.
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
        if (rows[i] < 0 || static_cast<std::size_t>(rows[i]) >= table.size()) throw std::out_of_range("no such row");
        const auto row = static_cast<std::size_t>(rows[i]);
        if (list == table.lists() || rows[i] < table.list_start[list] || rows[i] >= table.list_start[list + 1]) {
            end_list();
            const auto after = std::upper_bound(table.list_start.begin(), table.list_start.end(), rows[i]);
            list = static_cast<std::size_t>(after - table.list_start.begin()) - 1;
            if (ended[list]) throw std::invalid_argument("the rows of one list must follow each other");
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
