// Joins run files with judgments without keeping the runs in memory.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "join_runs.hpp"

namespace cranfield {

// Joins a few files at a time, reusing the memory of the files before. `progress` is called with the number of pieces read of
// all files, `quiet` while lists are ranked.
class FileJoin {
public:
    FileJoin(const Judged& judged, const JoinOptions& join, const ReadOptions& reading, bool split_tags, Watch progress,
             Watch quiet)
        : joined(judged.topics.size()), judged_(judged), join_(join), reading_(reading), progress_(std::move(progress)),
          quiet_(std::move(quiet)), by_(split_tags ? Group::by_tag : Group::by_source) {}

    Joined joined;
    std::vector<Fault> faults;  // the first fault, if any

    // Joins all files; stops at the first fault, or when a watch says so.
    void add_all(const std::vector<Source>& sources) {
        std::size_t bytes = 0, pieces_before = 0;
        for (const Source& source : sources) bytes += source.size();
        reading_.watch = [&](std::size_t done) { return progress_(pieces_before + done); };
        // Enough files at a time to keep all threads busy, and few enough that what one step reads is still in the cache
        // when the next step needs it.
        const std::size_t together = 2 * kChunkBytes * std::max(1u, reading_.threads);
        for (std::size_t begin = 0, end = 0; begin < sources.size(); begin = end) {
            std::vector<Source> batch;
            std::size_t size = 0;
            for (; end < sources.size() && (size == 0 || size + sources[end].size() <= together); ++end) {
                batch.push_back(sources[end]);
                size += batch.back().size();
            }
            if (!add(batch, begin)) break;
            for (const Source& source : batch) pieces_before += pieces_of(source);
            if (!reading_.watch(0)) break;  // a batch may take less time than passes between two calls of the watch
            if (begin == 0 && size >= together / 2 && end < sources.size())  // expect as many hits per byte in the other files
                joined.reserve(static_cast<std::size_t>(1.05 * static_cast<double>(joined.hits()) * static_cast<double>(bytes) /
                                                        static_cast<double>(std::max<std::size_t>(1, size))));
        }
        reading_.watch = {};
    }

private:
    // Returns false if there was a fault, or a watch stopped it.
    bool add(const std::vector<Source>& sources, std::size_t sources_before) {
        lines_ = read_lines(sources, reading_, std::move(lines_));
        if (lines_.stopped) return false;
        Lists grouped = group(lines_.chunks, sources.size(), by_);
        std::vector<Fault> found = collect_faults(lines_.chunks, 1);
        found.insert(found.end(), grouped.faults.begin(), grouped.faults.end());
        if (!found.empty()) {  // report the first fault in file order: a file before this one may have a duplicate
            found = {*std::min_element(found.begin(), found.end(), [](const Fault& a, const Fault& b) { return a.source < b.source; })};
            std::erase_if(lines_.chunks, [&](const Chunk& chunk) { return chunk.source >= found[0].source; });
            grouped = group(lines_.chunks, sources.size(), by_);
        }
        if (!add_lists(grouped, sources, sources_before)) return false;
        if (faults.empty()) faults = std::move(found);
        for (Fault& fault : faults) fault.source += sources_before;
        return faults.empty();
    }

    // Returns false if the watch stopped it.
    bool add_lists(const Lists& grouped, const std::vector<Source>& sources, std::size_t sources_before) {
        const std::size_t runs_before = joined.names.size();
        for (const auto& [source, name] : grouped.runs)
            joined.add_run(name, static_cast<std::int32_t>(source + sources_before),
                           by_ == Group::by_tag ? std::vector<std::string>{name} : grouped.tags[source]);
        std::vector<std::int32_t> topic_number;
        for (const std::string& topic : grouped.topics) topic_number.push_back(judged_.index.topic(topic));

        constexpr std::size_t kListsAtOnce = 16;
        const std::size_t pieces = (grouped.lists.size() + kListsAtOnce - 1) / kListsAtOnce;
        std::vector<Joined::Part> parts(grouped.lists.size());
        std::vector<Twice> twice(grouped.lists.size());
        std::vector<std::size_t> dropped(grouped.lists.size(), 0);
        rankers_.resize(std::clamp<std::size_t>(pieces, 1, std::max(1u, reading_.threads)), Ranker(join_));
        const bool all = parallel_for(pieces, reading_.threads, quiet_, [&](std::size_t piece, unsigned thread) {
            Ranker& ranker = rankers_[thread];
            const std::size_t end = std::min(grouped.lists.size(), (piece + 1) * kListsAtOnce);
            for (std::size_t l = piece * kListsAtOnce; l < end; ++l) {
                const List& list = grouped.lists[l];
                const std::int32_t topic = topic_number[static_cast<std::size_t>(list.topic)];
                const std::size_t source = gather(list, ranker);
                const char* const base = sources[source].data();
                if (topic < 0)
                    ranker.rank_only(base);
                else
                    ranker.run(base, judged_.index, topic);
                dropped[l] = ranker.dropped;
                if (ranker.has_duplicate) twice[l] = {true, source, ranker.duplicate};
                if (topic < 0 || ranker.has_duplicate) continue;
                const std::size_t run = runs_before + static_cast<std::size_t>(list.run);
                const std::size_t row = run * judged_.topics.size() + static_cast<std::size_t>(topic);
                joined.retrieved[row] = static_cast<std::int32_t>(ranker.retrieved);
                joined.missing[row] = 0;
                parts[l] = Joined::Part(row, ranker, base);
            }
        });
        if (!all) return false;
        joined.add(std::move(parts), reading_.threads);
        report_duplicate(twice, grouped, sources);
        for (std::size_t l = 0; l < grouped.lists.size(); ++l) {
            const List& list = grouped.lists[l];
            joined.dropped += dropped[l];
            joined.documents += list.size;
            if (topic_number[static_cast<std::size_t>(list.topic)] < 0)
                joined.unjudged[runs_before + static_cast<std::size_t>(list.run)].push_back(
                    grouped.topics[static_cast<std::size_t>(list.topic)]);
        }
        return true;
    }

    // Hands the documents of a list to the ranker; returns the source they are from.
    std::size_t gather(const List& list, Ranker& ranker) const {
        ranker.documents.clear();
        ranker.documents.reserve(list.size);
        std::size_t source = 0;
        for (const auto& [c, b] : list.blocks) {
            const Chunk& chunk = lines_.chunks[c];
            source = chunk.source;
            const Block& block = chunk.blocks[b];
            for (std::size_t i = block.first; i < block.first + block.count; ++i)
                ranker.documents.push_back({chunk.entries[i].key, chunk.entries[i].doc});
        }
        return source;
    }

    // A document that occurs twice in a list.
    struct Twice {
        bool there = false;
        std::size_t source = 0;
        Duplicate places{};
    };

    // Reports the first duplicate in the files only: counting lines takes time.
    void report_duplicate(const std::vector<Twice>& twice, const Lists& grouped, const std::vector<Source>& sources) {
        const auto place = [](const Twice& pair) { return std::pair(pair.source, pair.places.again.offset()); };
        const Twice* first = nullptr;
        for (const Twice& pair : twice)
            if (pair.there && (!first || place(pair) < place(*first))) first = &pair;
        if (!first) return;
        const Source text = sources[first->source];
        const List& list = grouped.lists[static_cast<std::size_t>(first - twice.data())];
        faults.push_back({first->source, first->places.again.offset(),
                          "document " + quoted(first->places.again.in(text.data())) + " appears twice for topic " +
                              quoted(grouped.topics[static_cast<std::size_t>(list.topic)]) + ", first on line " +
                              std::to_string(line_of(text, first->places.first.offset())) +
                              (by_ == Group::by_tag ? "" : among_tags(grouped.tags[first->source]))});
    }

    const Judged& judged_;
    JoinOptions join_;
    ReadOptions reading_;
    Watch progress_, quiet_;
    Group by_;
    Lines lines_;
    std::vector<Ranker> rankers_;
};

}  // namespace cranfield
