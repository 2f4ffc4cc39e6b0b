// The lists of one run file that is read window by window.
#pragma once

#include <cstring>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "join_runs.hpp"
#include "memory.hpp"
#include "ranker.hpp"
#include "reader.hpp"

namespace cranfield {

// The entries of one list with copies of their ids, for a list that does not lie within one window. Before each id stands its
// offset in the file.
class CopiedList {
public:
    LongColumn<Entry> entries;  // ids are in `arena`
    LongColumn<char> arena;

    void reserve(std::size_t size, std::size_t id_bytes) {
        entries.reserve(size);
        arena.reserve(id_bytes + size * sizeof(std::uint64_t));
    }
    void add(const Chunk& chunk, const Block& block, const char* base) {
        for (std::size_t i = block.first; i < block.first + block.count; ++i) {
            const Entry& entry = chunk.entries[i];
            const std::string_view id = entry.doc.in(base);
            const std::uint64_t offset = entry.doc.offset();
            const std::size_t at = arena.size() + sizeof offset;
            arena.resize(at + id.size());
            std::memcpy(arena.data() + at - sizeof offset, &offset, sizeof offset);
            std::memcpy(arena.data() + at, id.data(), id.size());
            entries.push_back({entry.key, Id::make(at, id.size())});
        }
    }
    std::size_t offset_of(Id id) const {
        std::uint64_t offset = 0;
        std::memcpy(&offset, arena.data() + id.offset() - sizeof offset, sizeof offset);
        return static_cast<std::size_t>(offset);
    }
    static std::size_t bytes_for(std::size_t size, std::size_t id_bytes) {
        return size * (sizeof(Entry) + sizeof(std::uint64_t)) + id_bytes;
    }
    std::size_t bytes() const { return entries.size() * sizeof(Entry) + arena.size(); }
};

// One list, as far as it has been read.
struct ListState {
    std::int32_t run = 0, topic = 0;  // numbers in the source
    std::int32_t retrieved = 0;
    bool ranked = false;     // it seemed complete, and was ranked
    bool scattered = false;  // entries came after that
    std::size_t size = 0, id_bytes = 0, dropped = 0;
    std::size_t window = 0, active = 0;  // the last window that has entries of it, and its place among the lists there
};

// The entries of a list in one window.
struct ActiveList {
    std::size_t list = 0;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> blocks;  // (chunk, block)
};

// A document that occurs twice in a list.
struct Twice {
    std::size_t first = 0, again = 0;  // offsets in the source
    std::string doc, topic;
};

// The lists of one source, and what is kept of them until the source has been read.
class SourceLists {
public:
    SourceLists(std::size_t source, Group by) : source(source), by_(by) {}

    std::size_t source;
    std::vector<std::string> runs, tags, topics;
    std::vector<std::int32_t> judged;  // the number of each topic among the judged ones, or -1
    std::vector<ListState> lists;
    std::vector<ActiveList> active;      // in the present window
    std::vector<Joined::Part> parts;     // of lists that are ranked; their row is the number of the list
    std::size_t open = kNone;            // the list that may go on in the next window
    CopiedList copied;                   // its entries up to now
    std::size_t last = kNone;            // the list of the last block
    bool finished = false;
    bool scattered = false;              // some list is
    std::vector<Fault> too_many_runs;
    std::vector<Twice> twice;            // the first in the file, if any

    static constexpr std::size_t kNone = ~std::size_t{0};

    void begin_window() { active.clear(); }

    // The number of a block's list; kNone if it is new.
    std::size_t find(const Block& block) const {
        const auto topic = topic_number_.find(block.topic);
        std::int32_t run = 0;
        if (by_ == Group::by_tag) {
            const auto tag = run_number_.find(block.name);
            if (tag == run_number_.end()) return kNone;
            run = tag->second;
        }
        if (topic == topic_number_.end()) return kNone;
        const auto list = list_number_.find(key(run, topic->second));
        return list == list_number_.end() ? kNone : list->second;
    }

    // Adds a block of the present window to its list.
    void add(std::uint32_t c, std::uint32_t b, const Block& block, std::size_t offset, std::size_t window, const JudgedIndex& index) {
        auto topic = topic_number_.find(block.topic);
        if (topic == topic_number_.end()) {
            topic = topic_number_.emplace(std::string(block.topic), static_cast<std::int32_t>(topics.size())).first;
            topics.emplace_back(block.topic);
            judged.push_back(index.topic(block.topic));
        }
        const std::int32_t run = run_of(block.name, offset);
        const auto [number, fresh] = list_number_.try_emplace(key(run, topic->second), lists.size());
        if (fresh) {
            lists.emplace_back();
            lists.back().run = run, lists.back().topic = topic->second;
        }
        last = number->second;
        ListState& list = lists[last];
        list.size += block.count;
        if (list.ranked && !list.scattered) list.scattered = scattered = true;
        if (list.window != window) {
            list.window = window, list.active = active.size();
            active.push_back({last, {}});
        }
        active[list.active].blocks.emplace_back(c, b);
    }

    // About the memory that is kept, in bytes.
    std::size_t kept() const {
        std::size_t bytes = lists.size() * (sizeof(ListState) + 32) + topics.size() * 160 + copied.bytes() + part_bytes_;
        return bytes;
    }
    void keep(Joined::Part part) {
        part_bytes_ += sizeof part + part.hits.size() * sizeof(Hit) + part.numbers.size() * sizeof(std::int32_t) +
                       part.scores.size() * sizeof(double) + part.unknown.size() * 64;
        parts.push_back(std::move(part));
    }
    void keep(Twice found) {
        if (twice.empty())
            twice.push_back(std::move(found));
        else if (found.again < twice[0].again)
            twice[0] = std::move(found);
    }

private:
    static std::uint64_t key(std::int32_t run, std::int32_t topic) {
        return (static_cast<std::uint64_t>(run) << 32) | static_cast<std::uint32_t>(topic);
    }

    // The number of the run: a file is one run, or one run for each tag.
    std::int32_t run_of(std::string_view name, std::size_t offset) {
        if (last_run_ >= 0 && same_text(name, last_name_)) return last_run_;
        auto tag = run_number_.find(name);
        if (tag == run_number_.end()) {
            tag = run_number_.emplace(std::string(name), by_ == Group::by_tag ? static_cast<std::int32_t>(runs.size()) : 0).first;
            if (tags.size() <= kMostRuns) tags.emplace_back(name);
            if (by_ == Group::by_tag || runs.empty()) runs.emplace_back(name);
            if (by_ == Group::by_tag && runs.size() == kMostRuns + 1)
                too_many_runs.push_back({source, offset,
                                         "more than " + std::to_string(kMostRuns) +
                                             " runs in one file, expected the last column to name a few runs"});
        }
        last_name_ = tag->first;
        return last_run_ = tag->second;
    }

    Group by_;
    TextNumbers topic_number_, run_number_;
    std::unordered_map<std::uint64_t, std::size_t> list_number_;
    std::string_view last_name_;
    std::int32_t last_run_ = -1;
    std::size_t part_bytes_ = 0;
};

}  // namespace cranfield
