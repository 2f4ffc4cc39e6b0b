// Joins run files of any size with judgments: lists are ranked as soon as they are complete, and only their hits are kept.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "join_runs.hpp"
#include "source_lists.hpp"
#include "windows.hpp"

namespace cranfield {

// How much memory a join may use, in bytes.
struct JoinMemory {
    std::size_t window = 0;     // read at a time; 0: what keeps all threads busy
    std::size_t scattered = std::size_t{1} << 30;  // for the copies of lists that are scattered over the file, at a time
    std::size_t most = 0;       // for all that is kept; 0: no limit
};

// Joins files, reusing the memory of the window before. `progress` is called with the number of bytes read of all files,
// `quiet` while lists are ranked.
class FileJoin {
public:
    FileJoin(const Judged& judged, const JoinOptions& join, const ReadOptions& reading, const JoinMemory& memory, bool split_tags,
             Watch progress, Watch quiet)
        : joined(judged.topics.size()), judged_(judged), join_(join), reading_(reading), memory_(memory),
          progress_(std::move(progress)), quiet_(std::move(quiet)), by_(split_tags ? Group::by_tag : Group::by_source) {
        // Enough at a time to keep all threads busy, and little enough that what one step reads is still in the cache when
        // the next step needs it.
        if (memory_.window == 0) memory_.window = 2 * reading_.chunk_bytes * std::max(1u, reading_.threads);
    }

    Joined joined;
    std::vector<Fault> faults;        // the first fault, if any
    std::vector<std::size_t> lines;   // of that fault; 0: it is about the whole file
    bool failed = false;              // a source could not be read
    std::vector<Oddity> odd;          // numbers that may not be what their author meant

    // Joins all files; stops at the first fault, or when a watch says so.
    void add_all(const Feeds& feeds) {
        feeds_ = &feeds;
        reading_.watch = [this](std::size_t) { return !failed && progress_(bytes_read()); };
        Windows windows(feeds, memory_.window);
        Window next;
        if (!windows.take(next)) {
            failed = true;
            return;
        }
        bool header_wanted = false;
        while (!next.empty()) {
            lines_.window = std::move(next);
            next = {};
            read_window(lines_, reading_, header_wanted, [&] { failed = !windows.take(next); });
            if (failed || lines_.stopped || !add_window()) break;
            for (const Piece& piece : lines_.window) feeds[piece.source]->done(piece);
            if (!reading_.watch(0)) break;  // a window may take less time than passes between two calls of the watch
        }
        reading_.watch = {};
        if (faults.empty() && !failed)
            for (Oddity& one : odd) one.line = line_in(*feeds[one.source], one.offset);
        if (faults.empty() || failed) return;
        const std::size_t line = at_a_line_ ? line_in(*feeds[faults[0].source], faults[0].offset) : 0;
        failed = at_a_line_ && line == 0;
        lines.push_back(line);
    }

private:
    // A list that can be ranked now, from the blocks of the window or from the copy of its entries.
    struct Task {
        SourceLists* source;
        std::size_t list;
        const ActiveList* blocks = nullptr;
        const CopiedList* copy = nullptr;
        Joined::Part part{};
        std::vector<Twice> twice{};
    };

    std::size_t bytes_read() {
        std::size_t read = 0;
        for (const auto& feed : *feeds_) read += feed->position();
        return most_read_ = std::max(most_read_, read);
    }

    // Returns false if there was a fault, or a watch stopped it.
    bool add_window() {
        ++window_;
        for (SourceLists& source : sources_) source.begin_window();
        for (const Piece& piece : lines_.window) source_lists(piece.source).finished = piece.last;
        for (std::uint32_t c = 0; c < lines_.chunks.size(); ++c) {
            const Chunk& chunk = lines_.chunks[c];
            SourceLists& source = source_lists(chunk.source);
            for (std::uint32_t b = 0; b < chunk.blocks.size(); ++b)
                source.add(c, b, chunk.blocks[b], chunk.entries[chunk.blocks[b].first].doc.offset(), window_, judged_.index);
        }
        add_oddities(lines_.chunks, odd);
        std::vector<Fault> found = collect_faults(lines_.chunks, 1);
        for (const SourceLists& source : sources_) found.insert(found.end(), source.too_many_runs.begin(), source.too_many_runs.end());
        if (!found.empty()) {  // report the first fault in file order: a file before this one may have a duplicate
            found = {*std::min_element(found.begin(), found.end(), [](const Fault& a, const Fault& b) { return a.source < b.source; })};
            std::erase_if(sources_, [&](const SourceLists& source) { return source.source >= found[0].source; });
        }
        std::vector<CopiedList> ended;
        ended.reserve(sources_.size());
        std::vector<Task> tasks;
        for (SourceLists& source : sources_) choose(source, tasks, ended);
        if (!rank(tasks) || !finish()) return false;
        if (faults.empty()) faults = std::move(found);
        if (faults.empty()) check_memory();
        return faults.empty();
    }

    SourceLists& source_lists(std::size_t source) {
        if (sources_.empty() || sources_.back().source < source) sources_.emplace_back(source, by_);
        return *std::find_if(sources_.rbegin(), sources_.rend(), [&](const SourceLists& lists) { return lists.source == source; });
    }

    // Chooses the lists of a source that are complete, as far as is known. The list that may go on in the next window is copied.
    void choose(SourceLists& source, std::vector<Task>& tasks, std::vector<CopiedList>& ended) {
        const std::size_t open = source.open;
        const bool goes_on = open == source.last && !source.finished;
        const auto copy = [&](const ActiveList& active, CopiedList& into) {
            for (const auto& [c, b] : active.blocks) into.add(lines_.chunks[c], lines_.chunks[c].blocks[b], base_of(c));
        };
        if (open != SourceLists::kNone) {
            const ListState& list = source.lists[open];
            if (list.window == window_) copy(source.active[list.active], source.copied);
            if (!goes_on) {
                ended.push_back(std::move(source.copied));
                source.copied = {};
                source.open = SourceLists::kNone;
                tasks.push_back({&source, open, nullptr, &ended.back()});
            }
        }
        for (const ActiveList& active : source.active) {
            if (active.list == open) continue;
            ListState& list = source.lists[active.list];
            if (list.scattered) {
                for (const auto& [c, b] : active.blocks) list.id_bytes += id_bytes(lines_.chunks[c], lines_.chunks[c].blocks[b]);
            } else if (active.list == source.last && !source.finished) {
                copy(active, source.copied);
                source.open = active.list;
            } else {
                tasks.push_back({&source, active.list, &active, nullptr});
            }
        }
    }

    static std::size_t id_bytes(const Chunk& chunk, const Block& block) {
        std::size_t bytes = 0;
        for (std::size_t i = block.first; i < block.first + block.count; ++i) bytes += chunk.entries[i].doc.length();
        return bytes;
    }
    const char* base_of(std::size_t chunk) const { return lines_.window[lines_.chunks[chunk].piece].base(); }

    // Returns false if the watch stopped it.
    bool rank(std::vector<Task>& tasks) {
        constexpr std::size_t kListsAtOnce = 16;
        const std::size_t pieces = (tasks.size() + kListsAtOnce - 1) / kListsAtOnce;
        if (rankers_.size() < std::clamp<std::size_t>(pieces, 1, std::max(1u, reading_.threads)))
            rankers_.resize(std::clamp<std::size_t>(pieces, 1, std::max(1u, reading_.threads)), Ranker(join_));
        const bool all = parallel_for(pieces, reading_.threads, quiet_, [&](std::size_t piece, unsigned thread) {
            const std::size_t end = std::min(tasks.size(), (piece + 1) * kListsAtOnce);
            for (std::size_t t = piece * kListsAtOnce; t < end; ++t) rank(tasks[t], rankers_[thread]);
        });
        if (!all) return false;
        for (Task& task : tasks) {
            if (task.part.row != SourceLists::kNone) task.source->keep(std::move(task.part));
            for (Twice& twice : task.twice) task.source->keep(std::move(twice));
        }
        return true;
    }

    void rank(Task& task, Ranker& ranker) const {
        ListState& list = task.source->lists[task.list];
        const std::int32_t topic = task.source->judged[static_cast<std::size_t>(list.topic)];
        const char* const base = gather(task, list, ranker);
        if (topic < 0)
            ranker.rank_only(base);
        else
            ranker.run(base, judged_.index, topic);
        list.ranked = true;
        list.dropped = ranker.dropped;
        task.part.row = SourceLists::kNone;
        if (ranker.has_duplicate) {
            const auto offset = [&](Id id) { return task.copy ? task.copy->offset_of(id) : id.offset(); };
            task.twice.push_back({offset(ranker.duplicate.first), offset(ranker.duplicate.again),
                                  std::string(ranker.duplicate.again.in(base)),
                                  task.source->topics[static_cast<std::size_t>(list.topic)]});
        }
        if (topic < 0 || ranker.has_duplicate) return;
        list.retrieved = static_cast<std::int32_t>(ranker.retrieved);
        task.part = Joined::Part(task.list, ranker, base);
    }

    // Hands the documents of a list to the ranker; returns what their ids are counted from.
    const char* gather(const Task& task, ListState& list, Ranker& ranker) const {
        ranker.documents.clear();
        ranker.documents.reserve(list.size);
        std::size_t bytes = 0;
        const auto add = [&](const Entry& entry) {
            ranker.documents.push_back({entry.key, entry.doc});
            bytes += entry.doc.length();
        };
        const char* base = nullptr;
        if (task.copy) {
            for (const Entry& entry : task.copy->entries) add(entry);
            base = task.copy->arena.data();
        } else {
            for (const auto& [c, b] : task.blocks->blocks) {
                const Chunk& chunk = lines_.chunks[c];
                const Block& block = chunk.blocks[b];
                for (std::size_t i = block.first; i < block.first + block.count; ++i) add(chunk.entries[i]);
                base = base_of(c);
            }
        }
        list.id_bytes = bytes;
        return base;
    }

    // Adds the runs of sources that have been read to their end. Returns false if there was a fault, or a watch stopped it.
    bool finish() {
        std::vector<Joined::Part> parts;
        for (SourceLists& source : sources_) {
            if (!source.finished) continue;
            if (source.scattered && !settle(source)) return false;
            if (!source.twice.empty()) {
                report(source);
                return true;
            }
            const std::size_t first_run = joined.names.size(), topics = judged_.topics.size();
            for (const std::string& name : source.runs)
                joined.add_run(name, static_cast<std::int32_t>(source.source),
                               by_ == Group::by_tag ? std::vector<std::string>{name} : source.tags);
            for (Joined::Part& part : source.parts) {
                const ListState& list = source.lists[part.row];
                part.row = (first_run + static_cast<std::size_t>(list.run)) * topics +
                           static_cast<std::size_t>(source.judged[static_cast<std::size_t>(list.topic)]);
                joined.retrieved[part.row] = list.retrieved;
                joined.missing[part.row] = 0;
                parts.push_back(std::move(part));
            }
            for (const ListState& list : source.lists) {
                const auto topic = static_cast<std::size_t>(list.topic);
                joined.dropped += list.dropped;
                joined.documents += list.size;
                if (source.judged[topic] < 0)
                    joined.unjudged[first_run + static_cast<std::size_t>(list.run)].push_back(source.topics[topic]);
            }
            (*feeds_)[source.source]->close();
        }
        joined.add(std::move(parts), reading_.threads);
        expect_more();
        std::erase_if(sources_, [](const SourceLists& source) { return source.finished; });
        return true;
    }

    // After the first runs, expects as many hits per byte in the others.
    void expect_more() {
        if (expecting_ || joined.hits() == 0) return;
        expecting_ = true;
        std::size_t length = 0;
        for (const auto& feed : *feeds_) length += feed->length();
        const double ratio = static_cast<double>(length) / static_cast<double>(std::max<std::size_t>(1, bytes_read()));
        if (ratio > 1.5) joined.reserve(static_cast<std::size_t>(1.05 * static_cast<double>(joined.hits()) * ratio));
    }

    // Reads a source again for its lists that are scattered over the file, as many at a time as the memory allows.
    bool settle(SourceLists& source) {
        std::erase_if(source.parts, [&](const Joined::Part& part) { return source.lists[part.row].scattered; });
        std::vector<std::size_t> waiting;
        for (std::size_t l = 0; l < source.lists.size(); ++l)
            if (source.lists[l].scattered) waiting.push_back(l);
        for (std::size_t begin = 0, end = 0; begin < waiting.size(); begin = end) {
            std::size_t bytes = 0;
            for (; end < waiting.size(); ++end) {
                const ListState& list = source.lists[waiting[end]];
                const std::size_t needed = CopiedList::bytes_for(list.size, list.id_bytes);
                if (memory_.most > 0 && needed > memory_.most) return too_large(source, list);
                if (end > begin && bytes + needed > memory_.scattered) break;
                bytes += needed;
            }
            if (!settle(source, {waiting.begin() + static_cast<std::ptrdiff_t>(begin), waiting.begin() + static_cast<std::ptrdiff_t>(end)}))
                return false;
        }
        return true;
    }

    bool settle(SourceLists& source, const std::vector<std::size_t>& wanted) {
        std::vector<std::size_t> place(source.lists.size(), SourceLists::kNone);
        std::vector<CopiedList> copies(wanted.size());
        for (std::size_t w = 0; w < wanted.size(); ++w) {
            place[wanted[w]] = w;
            copies[w].reserve(source.lists[wanted[w]].size, source.lists[wanted[w]].id_bytes);
        }
        Feed& feed = *(*feeds_)[source.source];
        const auto take = [&](Window& window) {
            Piece piece;
            if (!feed.next(memory_.window, piece)) return false;
            piece.source = source.source;
            window.assign(1, piece);
            return true;
        };
        Window next;
        failed = !feed.rewind() || !take(next);
        bool header_wanted = false, changed = false;
        while (!failed && !changed && !next.empty()) {
            again_.window = std::move(next);
            next = {};
            read_window(again_, reading_, header_wanted, [&] { failed = !again_.window.back().last && !take(next); });
            if (failed || again_.stopped) return false;
            for (const Chunk& chunk : again_.chunks) {
                changed |= !chunk.faults.empty();
                const char* const base = again_.window[chunk.piece].base();
                for (const Block& block : chunk.blocks) {
                    const std::size_t list = source.find(block);
                    changed |= list == SourceLists::kNone;
                    if (!changed && place[list] != SourceLists::kNone) copies[place[list]].add(chunk, block, base);
                }
            }
            for (const Piece& piece : again_.window) feed.done(piece);
        }
        if (failed) return false;
        for (std::size_t w = 0; w < wanted.size(); ++w) changed |= copies[w].entries.size() != source.lists[wanted[w]].size;
        if (changed) return whole_file(source, "changed while it was read");
        std::vector<Task> tasks;
        for (std::size_t w = 0; w < wanted.size(); ++w) tasks.push_back({&source, wanted[w], nullptr, &copies[w]});
        return rank(tasks);
    }

    // A fault that is not on one line; returns false.
    bool whole_file(const SourceLists& source, std::string what) {
        faults = {{source.source, 0, std::move(what)}};
        at_a_line_ = false;
        return false;
    }
    bool too_large(const SourceLists& source, const ListState& list) {
        return whole_file(source, "topic " + quoted(source.topics[static_cast<std::size_t>(list.topic)]) + " has " +
                                      std::to_string(list.size) + " documents, which do not fit into the memory that is allowed");
    }

    void check_memory() {
        if (memory_.most == 0) return;
        std::size_t kept = joined.bytes();
        for (const SourceLists& source : sources_) kept += source.kept();
        if (kept <= memory_.most || sources_.empty()) {
            if (kept > memory_.most) throw std::length_error("the judged documents in the runs do not fit into the memory that is allowed");
            return;
        }
        const SourceLists& source = sources_.back();
        if (source.open != SourceLists::kNone && source.copied.bytes() > kept / 2)
            too_large(source, source.lists[source.open]);
        else
            whole_file(source, "the judged documents of its lists do not fit into the memory that is allowed");
    }

    // Reports a duplicate: counting lines takes time, so this is done for one.
    void report(const SourceLists& source) {
        const Twice& twice = source.twice[0];
        const std::size_t line = line_in(*(*feeds_)[source.source], twice.first);
        failed |= line == 0;
        faults = {{source.source, twice.again,
                   "document " + quoted(twice.doc) + " appears twice for topic " + quoted(twice.topic) + ", first on line " +
                       std::to_string(line) + (by_ == Group::by_tag ? "" : among_tags(source.tags))}};
    }

    const Judged& judged_;
    JoinOptions join_;
    ReadOptions reading_;
    JoinMemory memory_;
    Watch progress_, quiet_;
    Group by_;
    const Feeds* feeds_ = nullptr;
    Lines lines_, again_;
    std::vector<SourceLists> sources_;  // those that are being read
    std::vector<Ranker> rankers_;
    std::size_t window_ = 0, most_read_ = 0;
    bool at_a_line_ = true, expecting_ = false;
};

}  // namespace cranfield
