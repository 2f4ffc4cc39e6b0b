// Run files straight into hits: what `_core.join_files` does.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "join_runs.hpp"

namespace cranfield {
namespace {

// Joins some files after the other; each time in the memory of the last.
class FileJoin {
public:
    FileJoin(const Judged& judged, const JoinOptions& join, ReadOptions& reading)
        : joined(judged.topics.size()), judged_(judged), join_(join), reading_(reading) {}

    Joined joined;
    std::vector<Fault> faults;  // the first one, if there is any

    // Returns false if there was a fault, or somebody stopped it.
    bool add(const std::vector<Source>& sources, std::size_t sources_before) {
        lines_ = read_lines(sources, reading_, std::move(lines_));
        if (lines_.stopped) return false;
        Lists grouped = group(lines_.chunks, sources.size(), true);
        std::vector<Fault> found = collect_faults(lines_.chunks, 1);
        found.insert(found.end(), grouped.faults.begin(), grouped.faults.end());
        if (!found.empty()) {  // files are told of in order, however many are read at a time: look at those before it
            found = {*std::min_element(found.begin(), found.end(), [](const Fault& a, const Fault& b) { return a.source < b.source; })};
            std::erase_if(lines_.chunks, [&](const Chunk& chunk) { return chunk.source >= found[0].source; });
            grouped = group(lines_.chunks, sources.size(), true);
        }
        if (!add_lists(grouped, sources, sources_before)) return false;
        if (faults.empty()) faults = std::move(found);
        for (Fault& fault : faults) fault.source += sources_before;
        return faults.empty();
    }

private:
    // Returns false if somebody stopped it.
    bool add_lists(const Lists& grouped, const std::vector<Source>& sources, std::size_t sources_before) {
        const std::size_t runs_before = joined.names.size();
        for (const auto& [source, name] : grouped.runs) joined.add_run(name, static_cast<std::int32_t>(source + sources_before));
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
        tell_duplicate(twice, grouped, sources);
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

    // Puts the documents of a list before the ranker; returns which source they are from.
    std::size_t gather(const List& list, Ranker& ranker) const {
        ranker.documents.clear();
        ranker.documents.reserve(list.size);
        std::size_t source = 0;
        for (const auto& [c, b] : list.blocks) {
            const Chunk& chunk = lines_.chunks[c];
            source = chunk.source;
            const Block& block = chunk.blocks[b];
            for (std::size_t i = block.first; i < block.first + block.count; ++i)
                ranker.documents.push_back({chunk.entries[i].key, chunk.entries[i].doc, 0.0});
        }
        return source;
    }

    // A document that a list has twice.
    struct Twice {
        bool there = false;
        std::size_t source = 0;
        Duplicate places{};
    };

    // Lines are counted for the first one in the files, not for every list.
    void tell_duplicate(const std::vector<Twice>& twice, const Lists& grouped, const std::vector<Source>& sources) {
        const auto place = [](const Twice& one) { return std::pair(one.source, one.places.again.offset()); };
        const Twice* worst = nullptr;
        for (const Twice& one : twice)
            if (one.there && (!worst || place(one) < place(*worst))) worst = &one;
        if (!worst) return;
        const Source text = sources[worst->source];
        const List& list = grouped.lists[static_cast<std::size_t>(worst - twice.data())];
        faults.push_back({worst->source, worst->places.again.offset(),
                          "document " + quoted(worst->places.again.in(text.data())) + " is there twice for topic " +
                              quoted(grouped.topics[static_cast<std::size_t>(list.topic)]) + ", first on line " +
                              std::to_string(line_of(text, worst->places.first.offset()))});
    }

    const Judged& judged_;
    JoinOptions join_;
    ReadOptions& reading_;
    Lines lines_;
    std::vector<Ranker> rankers_;
    const Watch quiet_ = make_watch(nb::none(), 0);  // made while the GIL is held
};

// Returns (joined dict or None, faults).
nb::tuple py_join_files(const Judged& judged, const std::vector<nb::object>& sources,
                        const std::vector<std::string>& columns, const std::string& delimiter, bool header,
                        const std::string& expected, const std::string& order, bool single_precision,
                        const std::string& on_duplicate, std::size_t depth, unsigned threads, const nb::object& progress,
                        const Judged* numbers, bool scores) {
    const Buffers buffers(sources);
    ReadOptions options;
    options.layout = make_layout(columns, delimiter, header, expected);
    options.threads = threads;
    const JoinOptions join = join_options(order, single_precision, on_duplicate, depth, numbers, scores);
    options.order = join.order;
    std::size_t bytes = 0, pieces = 0, pieces_before = 0;
    for (const Source& source : buffers.sources) bytes += source.size(), pieces += pieces_of(source);
    const Watch watch = make_watch(progress, pieces);
    FileJoin files(judged, join, options);
    {
        const nb::gil_scoped_release release;
        options.watch = [&](std::size_t done) { return watch(pieces_before + done); };
        // So many files at a time as keep all threads busy: what one step has read is still near when the next wants it.
        const std::size_t together = 2 * kChunkBytes * std::max(1u, threads);
        for (std::size_t begin = 0, end = 0; begin < buffers.sources.size(); begin = end) {
            std::vector<Source> some;
            std::size_t size = 0;
            for (; end < buffers.sources.size() && (size == 0 || size + buffers.sources[end].size() <= together); ++end) {
                some.push_back(buffers.sources[end]);
                size += some.back().size();
            }
            if (!files.add(some, begin)) break;
            for (const Source& source : some) pieces_before += pieces_of(source);
            if (!options.watch(0)) break;  // some files take less time than a watch waits
            if (begin == 0 && size >= together / 2 && end < buffers.sources.size())  // the other files are likely to be alike
                files.joined.reserve(static_cast<std::size_t>(1.05 * static_cast<double>(files.joined.hits()) *
                                                              static_cast<double>(bytes) / static_cast<double>(std::max<std::size_t>(1, size))));
        }
    }
    if (PyErr_Occurred()) throw nb::python_error();
    if (!files.faults.empty()) return nb::make_tuple(nb::none(), fault_list(files.faults, buffers.sources));
    return nb::make_tuple(files.joined.to_python(), nb::list());
}

}  // namespace
}  // namespace cranfield
