// Reads one large file of judgments window by window: only the table stays in memory, never the file.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "table.hpp"
#include "windows.hpp"

namespace cranfield {

// For files without faults, whose topics are together. Gives up on others, which `read_table` reads with all details.
class JudgmentReader {
public:
    JudgmentReader(const ReadOptions& options, OnDuplicate rule, bool labels_count, std::size_t window)
        : options_(options), rule_(rule), labels_count_(labels_count), window_(window) {
        builder_.name("");
    }

    // The table; nothing if the file is unusual, or if it cannot be read.
    std::optional<Table> read(Feed& feed) {
        bool header_wanted = false;
        Lines lines;
        for (bool last = false; !last;) {
            Piece piece;
            if (!feed.next(window_, piece)) return std::nullopt;
            last = piece.last;
            lines.window.assign(1, piece);
            read_window(lines, options_, header_wanted);
            if (lines.stopped) return std::nullopt;
            if (piece.offset == 0) expect(feed.size(), piece.bytes.size(), lines.chunks);
            if (!add(lines.chunks, piece.base())) return std::nullopt;
            feed.done(piece);
        }
        lines = {};
        feed.close();
        if (!settle()) return std::nullopt;
        return builder_.finish();
    }

private:
    // Where the entries of a chunk go.
    struct Place {
        std::size_t entries = 0, bytes = 0;
        std::vector<std::int32_t> labels;
    };

    // Makes room for the whole file, as far as its first window tells; memory costs nothing until it is written.
    void expect(std::size_t all, std::size_t read, const std::vector<Chunk>& chunks) {
        if (all <= read || read == 0) return;
        std::size_t entries = 0, bytes = 0;
        for (const Chunk& chunk : chunks) {
            entries += chunk.entries.size();
            for (const Entry& entry : chunk.entries) bytes += entry.doc.length();
        }
        const double times = 1.2 * static_cast<double>(all) / static_cast<double>(read);
        Table& table = builder_.table;
        const auto likely = static_cast<std::size_t>(static_cast<double>(entries) * times);
        table.arena.reserve(static_cast<std::size_t>(static_cast<double>(bytes) * times));
        table.doc.reserve(likely), table.value.reserve(likely);
        if (options_.layout.rank >= 0) table.rank.reserve(likely);
    }

    // Adds the entries of a window. False if there is a fault, or if a topic comes again after another one.
    bool add(const std::vector<Chunk>& chunks, const char* base) {
        Table& table = builder_.table;
        std::vector<Place> places(chunks.size() + 1);
        places[0].entries = table.doc.size(), places[0].bytes = table.arena.size();
        parallel_for(chunks.size(), options_.threads, {}, [&](std::size_t c, unsigned) {
            for (const Entry& entry : chunks[c].entries) places[c + 1].bytes += entry.doc.length();
        });
        for (std::size_t c = 0; c < chunks.size(); ++c) {
            if (!chunks[c].faults.empty()) return false;
            for (const Block& block : chunks[c].blocks)
                if (!add(block)) return false;
            for (const std::string_view label : chunks[c].labels) places[c].labels.push_back(builder_.label(label));
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
        parallel_for(chunks.size(), options_.threads, {}, [&](std::size_t c, unsigned) {
            fill(chunks[c], base, places[c], labels);
        });
        return true;
    }

    bool add(const Block& block) {
        if (sizes_.empty() || !same_text(builder_.table.topics.back(), block.topic)) {
            const auto number = static_cast<std::size_t>(builder_.topic(block.topic));
            if (number < sizes_.size()) return false;
            sizes_.push_back(0);
        }
        sizes_.back() += block.count;
        return true;
    }

    void fill(const Chunk& chunk, const char* base, const Place& place, bool labels) {
        Table& table = builder_.table;
        std::size_t at = place.entries, byte = place.bytes;
        for (std::size_t i = 0; i < chunk.entries.size(); ++i, ++at) {
            const std::string_view id = chunk.entries[i].doc.in(base);
            std::memcpy(table.arena.data() + byte, id.data(), id.size());
            table.doc[at] = Id::make(byte, id.size());
            byte += id.size();
            table.value[at] = chunk.entries[i].key;
            if (options_.layout.rank >= 0) table.rank[at] = chunk.ranks[i];
            if (labels) table.label[at] = place.labels[static_cast<std::size_t>(chunk.label[i])];
        }
    }

    // Ends the lists, without duplicates. False if duplicates are errors and there are some.
    bool settle() {
        Table& table = builder_.table;
        std::vector<Settled> lists(sizes_.size());
        for (std::size_t l = 1; l < lists.size(); ++l) lists[l].first = lists[l - 1].first + sizes_[l - 1];
        struct Scratch {
            std::vector<Kept> entries;
            IdTable seen;
        };
        std::vector<Scratch> scratch(std::max(1u, options_.threads));
        std::atomic<bool> repeated{false};
        parallel_for(lists.size(), options_.threads, {}, [&](std::size_t l, unsigned thread) {
            auto& [entries, seen] = scratch[thread];
            entries.clear();
            for (std::size_t at = lists[l].first; at < lists[l].first + sizes_[l]; ++at)
                entries.push_back({table.id(at), table.value[at], table.rank.empty() ? 0.0 : table.rank[at],
                                   table.label.empty() ? 0 : table.label[at], at});
            settle_duplicates(entries, rule_, labels_count_, seen, lists[l].repeats, lists[l].dropped);
            lists[l].kept = entries.size();
            if (!lists[l].repeats.empty()) repeated = true;
            if (lists[l].dropped > 0) keep(lists[l].first, entries);
        });
        if (repeated) return false;
        for (std::size_t l = 0; l < lists.size(); ++l) {
            table.dropped += lists[l].dropped;
            builder_.end_list(0, static_cast<std::int32_t>(l), lists[l].kept);
        }
        if (table.dropped > 0) close_gaps(table, lists);
        return true;
    }

    // Puts the entries that are kept where their list begins; each comes from a place further down, or from this one.
    void keep(std::size_t at, const std::vector<Kept>& entries) {
        Table& table = builder_.table;
        for (const Kept& entry : entries) {
            table.doc[at] = Id::at(table.arena.data(), entry.id);
            table.value[at] = entry.value;
            if (!table.rank.empty()) table.rank[at] = entry.rank;
            if (!table.label.empty()) table.label[at] = entry.label;
            ++at;
        }
    }

    const ReadOptions& options_;
    OnDuplicate rule_;
    bool labels_count_;
    std::size_t window_;
    TableBuilder builder_;
    std::vector<std::size_t> sizes_;  // of each list
};

}  // namespace cranfield
