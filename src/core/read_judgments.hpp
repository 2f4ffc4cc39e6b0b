// Reads judgments window by window, from a large file or from blocks: only the table stays in memory, never the file.
#pragma once

#include <algorithm>
#include <cstring>
#include <limits>
#include <mutex>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "table.hpp"
#include "windows.hpp"

namespace cranfield {

// The lists of all lines, in file order: consecutive lines of one list are a stretch. If the lines of a list are not together
// there may be as many stretches as lines, so that one line takes four bytes, and several eight.
class Stretches {
public:
    // Adds lines of a list.
    void add(std::int32_t list, std::uint32_t lines) {
        if (last_ == list && lines_ <= std::numeric_limits<std::uint32_t>::max() - lines) {
            lines_ += lines;
            return;
        }
        end();
        last_ = list, lines_ = lines;
    }
    std::int32_t last() const { return last_; }  // -1: none
    // Calls each(list, lines) for every stretch.
    template <typename Each>
    void visit(const Each& each) {
        end();
        for (auto at = packed_.begin(); at != packed_.end(); ++at) {
            const auto list = static_cast<std::size_t>(*at >> 1);
            each(list, static_cast<std::size_t>(*at & 1 ? *++at : 1));
        }
    }
    void clear() { *this = {}; }

private:
    void end() {
        if (lines_ > 0) packed_.push_back(static_cast<std::uint32_t>(last_) << 1 | (lines_ > 1));
        if (lines_ > 1) packed_.push_back(lines_);
        lines_ = 0, last_ = -1;
    }

    std::vector<std::uint32_t> packed_;  // twice the number of the list; plus 1 if the number of lines follows
    std::int32_t last_ = -1;
    std::uint32_t lines_ = 0;
};

// Has the result of `read_table` for one source and at most one fault.
class JudgmentReader {
public:
    JudgmentReader(const ReadOptions& options, OnDuplicate rule, bool labels_count, std::size_t window)
        : options_(options), rule_(rule), labels_count_(labels_count), window_(window) {
        builder_.name("");
        builder_.table.value.be_coded();
    }

    std::vector<Fault> faults;  // the first fault of the file, if any
    std::size_t line = 0;       // of that fault

    // False if a watch stopped it, or if the source cannot be read.
    bool read(Feed& feed) {
        if (!read_lines(feed)) return false;
        feed.close();
        give_memory_back();
        if (scattered_) group();
        const std::vector<Repeated> repeated = settle();
        if (!repeated.empty()) return report(feed, repeated);
        for (Oddity& one : builder_.table.odd) one.line = line_in(feed, one.offset);
        if (!faults.empty()) line = line_in(feed, faults[0].offset);
        return faults.empty() || line > 0;
    }
    Table table() { return builder_.finish(); }

private:
    static constexpr std::size_t kNone = ~std::size_t{0};

    // Where the entries of a chunk go, and what their numbers are.
    struct Place {
        std::size_t entries = 0, bytes = 0;
        std::vector<std::int32_t> labels;  // in the table
        Levels levels;
        LongColumn<std::uint8_t> codes;    // of the levels; not used once the table has none
        std::vector<bool> shares_id;       // of each entry, with the one before it; empty if none does
        std::vector<std::uint8_t> code_in_table;
    };

    // The first document of a list that appears again.
    struct Repeated {
        std::size_t list = 0, row = 0;
        std::size_t first = kNone;  // the offset of its first line, once that is found
        double grade = 0;           // on that line
    };

    // Adds the lines of all windows, up to the first line that cannot be read.
    bool read_lines(Feed& feed) {
        bool header_wanted = false, failed = false;
        Lines lines;
        Piece next;
        if (!feed.next(window_, next)) return false;
        const double share = feed.length() > 0 ? static_cast<double>(feed.position()) / static_cast<double>(feed.length()) : 1.0;
        for (bool last = false; !last && faults.empty();) {
            const Piece piece = next;
            last = piece.last;
            lines.window.assign(1, piece);
            read_window(lines, options_, header_wanted, [&] { failed = !last && !feed.next(window_, next); });
            if (failed || lines.stopped) return false;
            if (piece.offset == 0 && !last) expect(lines.chunks, share);
            add_oddities(lines.chunks, builder_.table.odd);
            add(lines.chunks, piece.base());
            feed.done(piece);
        }
        return true;
    }

    // Makes room for the whole file, of which this is the first window; memory costs nothing until it is written.
    void expect(const std::vector<Chunk>& chunks, double share) {
        std::size_t entries = 0, bytes = 0;
        for (const Chunk& chunk : chunks) {
            entries += chunk.entries.size();
            for (const Entry& entry : chunk.entries) bytes += entry.doc.length();
        }
        const double times = 1.2 / std::max(share, 1e-3);
        Table& table = builder_.table;
        likely_ = static_cast<std::size_t>(static_cast<double>(entries) * times);
        table.arena.reserve(static_cast<std::size_t>(static_cast<double>(bytes) * times));
        table.doc.reserve(likely_), table.value.reserve(likely_);
        if (options_.layout.rank >= 0) table.rank.reserve(likely_);
    }

    // Adds the entries of a window, up to the first fault.
    void add(const std::vector<Chunk>& chunks, const char* base) {
        Table& table = builder_.table;
        std::size_t used = 0;  // chunks
        while (used < chunks.size() && faults.empty()) {
            if (!chunks[used].faults.empty()) faults.assign(1, chunks[used].faults[0]);
            ++used;
        }
        std::vector<Place> places(used + 1);
        places[0].entries = table.doc.size(), places[0].bytes = table.arena.size();
        parallel_for(used, options_.threads, {}, [&](std::size_t c, unsigned) {
            find_shared_ids(chunks[c], base, places[c]);
            places[c + 1].bytes = id_bytes(chunks[c], places[c]);
            if (table.value.coded()) find_levels(chunks[c], places[c]);
        });
        for (std::size_t c = 0; c < used; ++c) {
            for (const Block& block : chunks[c].blocks) add(block);
            for (const std::string_view label : chunks[c].labels) places[c].labels.push_back(builder_.label(label));
            add_levels(chunks[c], places[c]);
            places[c + 1].entries = places[c].entries + chunks[c].entries.size();
            places[c + 1].bytes += places[c].bytes;
        }
        const std::size_t before = table.doc.size(), entries = places.back().entries;
        table.arena.resize(places.back().bytes);
        table.doc.resize(entries), table.value.resize(entries);
        if (options_.layout.rank >= 0) table.rank.resize(entries);
        const bool labels = table.labels.size() > 1;  // until then, all labels are number 0
        if (labels) {
            if (table.label.empty()) table.label.assign(before, 0);
            table.label.resize(entries);
        }
        parallel_for(used, options_.threads, {}, [&](std::size_t c, unsigned) { fill(chunks[c], base, places[c], labels); });
    }

    void add(const Block& block) {
        const std::vector<std::string>& topics = builder_.table.topics;
        std::int32_t list = stretches_.last();
        if (list < 0 || !same_text(topics[static_cast<std::size_t>(list)], block.topic)) {
            list = builder_.topic(block.topic);
            scattered_ |= static_cast<std::size_t>(list) < sizes_.size();
            sizes_.resize(topics.size(), 0);
        }
        stretches_.add(list, block.count);
        sizes_[static_cast<std::size_t>(list)] += block.count;
    }

    // The lines of a document for several intents often follow one another; then its id is kept once. Looks at the ids only
    // once: those in a mapped file may change.
    static void find_shared_ids(const Chunk& chunk, const char* base, Place& place) {
        if (chunk.labels.size() < 2) return;
        place.shares_id.resize(chunk.entries.size());
        for (std::size_t i = 1; i < chunk.entries.size(); ++i)
            place.shares_id[i] = same_text(chunk.entries[i - 1].doc.in(base), chunk.entries[i].doc.in(base));
    }
    static std::size_t id_bytes(const Chunk& chunk, const Place& place) {
        std::size_t bytes = 0;
        for (std::size_t i = 0; i < chunk.entries.size(); ++i)
            if (place.shares_id.empty() || !place.shares_id[i]) bytes += chunk.entries[i].doc.length();
        return bytes;
    }

    static void find_levels(const Chunk& chunk, Place& place) {
        place.codes.resize(chunk.entries.size());
        for (std::size_t i = 0; i < chunk.entries.size(); ++i) {
            const int level = place.levels.place(chunk.entries[i].key);
            if (level < 0) {
                place.codes = {};
                return;
            }
            place.codes[i] = static_cast<std::uint8_t>(level);
        }
    }

    // Finds the codes of a chunk's levels in the table, which has none any more if there are too many.
    void add_levels(const Chunk& chunk, Place& place) {
        NumberColumn& values = builder_.table.value;
        if (!values.coded()) return;
        bool fits = place.codes.size() == chunk.entries.size();
        for (std::size_t level = 0; fits && level < place.levels.numbers().size(); ++level) {
            const int code = values.code(place.levels.numbers()[level]);
            fits = code >= 0;
            place.code_in_table.push_back(static_cast<std::uint8_t>(code));
        }
        if (!fits) values.be_plain(likely_);
    }

    void fill(const Chunk& chunk, const char* base, const Place& place, bool labels) {
        Table& table = builder_.table;
        std::size_t at = place.entries, byte = place.bytes;
        for (std::size_t i = 0; i < chunk.entries.size(); ++i, ++at) {
            if (!place.shares_id.empty() && place.shares_id[i]) {
                table.doc[at] = table.doc[at - 1];
            } else {
                const std::string_view id = chunk.entries[i].doc.in(base);
                std::memcpy(table.arena.data() + byte, id.data(), id.size());
                table.doc[at] = Id::make(byte, id.size());
                byte += id.size();
            }
            if (table.value.coded())
                table.value.codes()[at] = place.code_in_table[place.codes[i]];
            else
                table.value.set(at, chunk.entries[i].key);
            if (options_.layout.rank >= 0) table.rank[at] = chunk.ranks[i];
            if (labels) table.label[at] = place.labels[static_cast<std::size_t>(chunk.label[i])];
        }
    }

    // Brings the entries of each list together, in file order.
    void group() {
        Table& table = builder_.table;
        const auto by_list = [&](auto& column) {
            if (column.empty()) return;
            std::vector<std::size_t> next(sizes_.size(), 0);
            for (std::size_t l = 1; l < next.size(); ++l) next[l] = next[l - 1] + sizes_[l - 1];
            std::remove_reference_t<decltype(column)> grouped;
            grouped.resize(column.size());
            std::size_t from = 0;
            stretches_.visit([&](std::size_t list, std::size_t lines) {
                for (const std::size_t end = from + lines; from < end; ++from) grouped[next[list]++] = column[from];
            });
            column = std::move(grouped);
        };
        by_list(table.doc), by_list(table.rank), by_list(table.label);
        table.value.in_use(by_list);
        stretches_.clear();
        LongColumn<char> arena;  // so that what is looked up together is in the same place
        arena.reserve(table.arena.size());
        Id last{0};
        for (Id& id : table.doc) {
            if (arena.empty() || id.packed != last.packed) {
                const std::string_view text = id.in(table.arena.data());
                arena.insert(arena.end(), text.begin(), text.end());
            }
            last = std::exchange(id, Id::make(arena.size() - id.length(), id.length()));
        }
        table.arena = std::move(arena);
    }

    // Ends the lists, without duplicates. If they are errors, returns the first one of each list.
    std::vector<Repeated> settle() {
        Table& table = builder_.table;
        std::vector<KeptRows> lists(sizes_.size());
        for (std::size_t l = 1; l < lists.size(); ++l) lists[l].first = lists[l - 1].first + sizes_[l - 1];
        std::vector<std::vector<std::uint32_t>> slots(std::max(1u, options_.threads));
        std::vector<Repeated> repeated;
        std::mutex mutex;
        const std::size_t at_once = lists.size() / 1000 + 1;
        parallel_for((lists.size() + at_once - 1) / at_once, options_.threads, {}, [&](std::size_t piece, unsigned thread) {
            for (std::size_t l = piece * at_once; l < std::min(lists.size(), (piece + 1) * at_once); ++l) {
                const std::size_t row = settle(l, lists[l], slots[thread]);
                if (row == kNone) continue;
                const std::lock_guard lock(mutex);
                repeated.push_back({l, row});
            }
        });
        if (!repeated.empty()) return repeated;
        for (std::size_t l = 0; l < lists.size(); ++l) {
            table.dropped += sizes_[l] - lists[l].kept;
            builder_.end_list(0, static_cast<std::int32_t>(l), lists[l].kept);
        }
        if (table.dropped > 0) close_gaps(table, lists);
        return repeated;
    }

    // Moves the entries that are kept to the beginning of their list. If duplicates are errors, returns the first one.
    std::size_t settle(std::size_t list, KeptRows& rows, std::vector<std::uint32_t>& slots) {
        Table& table = builder_.table;
        slots.assign(PackedNumbers::slots_for(sizes_[list]), 0);
        PackedNumbers seen(slots.data(), sizes_[list]);
        std::string_view last;
        std::uint64_t last_hash = hash_id(last);
        const auto label_of = [&](std::size_t row) { return labels_count_ && !table.label.empty() ? table.label[row] : 0; };
        for (std::size_t row = rows.first; row < rows.first + sizes_[list]; ++row) {
            const std::string_view id = table.id(row);
            const std::int32_t label = label_of(row);
            if (!same_text(id, last)) last_hash = hash_id(last = id);
            const std::uint64_t hash = last_hash ^ (static_cast<std::uint64_t>(label) * 0x9e3779b97f4a7c15ULL);
            const std::int32_t earlier = seen.find_or_add(hash, static_cast<std::int32_t>(rows.kept), [&](std::int32_t other) {
                const std::size_t that = rows.first + static_cast<std::size_t>(other);
                return label_of(that) == label && same_text(table.id(that), id);
            });
            if (earlier < 0) {
                copy(row, rows.first + rows.kept++);
                continue;
            }
            const std::size_t first = rows.first + static_cast<std::size_t>(earlier);
            if (rule_ == OnDuplicate::error) return row;
            if (rule_ == OnDuplicate::max && table.value[row] > table.value[first]) {
                table.value.copy(row, first);
                if (!table.rank.empty()) table.rank[first] = table.rank[row];
            }
        }
        return kNone;
    }

    void copy(std::size_t from, std::size_t to) {
        if (from == to) return;
        Table& table = builder_.table;
        table.doc[to] = table.doc[from];
        table.value.copy(from, to);
        if (!table.rank.empty()) table.rank[to] = table.rank[from];
        if (!table.label.empty()) table.label[to] = table.label[from];
    }

    // Reports the duplicate whose second line comes first in the file, which is read again for it.
    bool report(Feed& feed, const std::vector<Repeated>& repeated) {
        std::unordered_map<std::size_t, Repeated> of_list;
        for (const Repeated& one : repeated) of_list.emplace(one.list, one);
        faults = {{0, 0, "changed while it was read"}};
        bool header_wanted = false;
        Lines lines;
        if (!feed.rewind()) return false;
        for (Piece piece; !piece.last;) {
            if (!feed.next(window_, piece)) return false;
            lines.window.assign(1, piece);
            read_window(lines, options_, header_wanted);
            if (lines.stopped) return false;
            for (const Chunk& chunk : lines.chunks)
                for (const Block& block : chunk.blocks) {
                    const auto known = of_list.find(static_cast<std::size_t>(builder_.topic(block.topic)));
                    if (known == of_list.end()) continue;
                    Repeated& one = known->second;
                    for (std::size_t i = block.first; i < block.first + block.count; ++i) {
                        if (!is(one.row, chunk, i, piece.base())) continue;
                        if (one.first != kNone) return report(feed, one, Entry(chunk.entries[i]));
                        one.first = chunk.entries[i].doc.offset(), one.grade = chunk.entries[i].key;
                    }
                }
            feed.done(piece);
        }
        return true;
    }

    // Whether a line is about the document of a row.
    bool is(std::size_t row, const Chunk& chunk, std::size_t entry, const char* base) const {
        const Table& table = builder_.table;
        if (!same_text(chunk.entries[entry].doc.in(base), table.id(row))) return false;
        return !labels_count_ || table.label.empty() ||
               chunk.labels[static_cast<std::size_t>(chunk.label[entry])] == table.labels[static_cast<std::size_t>(table.label[row])];
    }

    bool report(Feed& feed, const Repeated& first, Entry again) {
        const std::size_t first_line = line_in(feed, first.first);
        line = first_line > 0 ? line_in(feed, again.doc.offset()) : 0;
        const Table& table = builder_.table;
        faults[0].what = repeat_message(table.id(first.row), table.topics[first.list], first_line) + grades_message(first.grade, again.key);
        return line > 0;
    }

    const ReadOptions& options_;
    OnDuplicate rule_;
    bool labels_count_;
    std::size_t window_;
    TableBuilder builder_;
    std::size_t likely_ = 0;             // entries
    std::vector<std::size_t> sizes_;     // of each list
    Stretches stretches_;
    bool scattered_ = false;             // the lines of some topic are not together
};

}  // namespace cranfield
