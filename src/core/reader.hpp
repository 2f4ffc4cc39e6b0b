// Reads the bytes of run or qrels files into entries (number, document), grouped into lists, with several threads.
#pragma once

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ids.hpp"
#include "memory.hpp"
#include "parallel.hpp"
#include "text.hpp"
#include "windows.hpp"

namespace cranfield {

// The bytes of one file; the caller keeps them alive.
using Source = std::string_view;

struct Fault {
    std::size_t source = 0;
    std::size_t offset = 0;  // of the line in the source
    std::string what;
};

// Numbers that are read but that may not be what their author meant, of one kind in one source: the first, and how many.
struct Oddity {
    std::size_t source = 0;
    int kind = 0;
    std::size_t offset = 0;  // of the first line in the source
    std::size_t count = 0;
    std::string what{};
    std::size_t line = 0;  // of the first; 0 if it is not known
};
constexpr int kInfinite = 0, kHexadecimal = 1, kOddRank = 2, kOddities = 3;

// One line: its number (score, grade or minus the rank) and its document.
struct Entry {
    double key;
    Id doc;
};

constexpr std::size_t kNoHeader = ~std::size_t{0};

// Consecutive lines of the same list within a chunk.
struct Block {
    std::string_view name, topic;
    std::uint32_t first = 0, count = 0;
};

// A part of one piece, cut at line ends.
struct Chunk {
    std::size_t source = 0;
    std::size_t piece = 0;           // its number in the window
    std::size_t begin = 0, end = 0;  // in the bytes of the piece
    std::size_t header = kNoHeader;  // where the header begins, if it is in this chunk
    LongColumn<Entry> entries;
    LongColumn<double> ranks;              // if kept
    LongColumn<std::int32_t> label;        // if kept: which of `labels`
    std::vector<std::string_view> labels;  // in order of first appearance
    std::vector<Block> blocks;
    std::vector<Fault> faults;
    std::array<Oddity, kOddities> odd{};

    // Makes this another part, in the same memory.
    void reuse(std::size_t of_source, std::size_t of_piece, std::size_t from, std::size_t to) {
        source = of_source, piece = of_piece, begin = from, end = to, header = kNoHeader;
        entries.clear(), ranks.clear(), label.clear(), labels.clear(), blocks.clear(), faults.clear();
        odd = {};
    }
};

enum class Order { score, rank, file };
enum class Ties { z_to_a, a_to_z, file };  // the order of documents with equal scores

struct ReadOptions {
    Layout layout;
    Order order = Order::score;
    bool keep_columns = false;  // keep the rank and label columns
    unsigned threads = 1;
    std::size_t most_faults = 1;
    std::size_t chunk_bytes = std::size_t{4} << 20;  // what a thread reads at a time
    Watch watch;
    // If set: bytes of a source that may leave the memory; they are read again where they are needed again.
    std::function<void(std::size_t source, std::string_view bytes)> release;
};

struct Lines {
    Window window;
    std::vector<Chunk> chunks;
    bool stopped = false;
};

using TextNumbers = std::unordered_map<std::string, std::int32_t, TextHash, std::equal_to<>>;

// Numbers texts in order of first appearance. In a file with intents, most labels equal the label of the line before, or
// are the next one.
class Numbering {
public:
    explicit Numbering(std::vector<std::string_view>& texts) : texts_(texts) {}

    std::int32_t of(std::string_view text) {
        for (const std::size_t likely : {last_, last_ + 1})
            if (likely < texts_.size() && same_text(texts_[likely], text)) {
                last_ = likely;
                return static_cast<std::int32_t>(likely);
            }
        const auto [found, fresh] = numbers_.try_emplace(text, texts_.size());
        if (fresh) texts_.push_back(text);
        last_ = found->second;
        return static_cast<std::int32_t>(last_);
    }

private:
    std::vector<std::string_view>& texts_;
    std::unordered_map<std::string_view, std::size_t, TextHash> numbers_;
    std::size_t last_ = 0;
};

// Where the text begins, after byte order marks; there may be two, if two tools added one.
inline std::size_t marks_of(std::string_view bytes) {
    std::size_t at = 0;
    while (bytes.substr(at, 3) == "\xef\xbb\xbf") at += 3;
    return at;
}

// A line without blanks around it; with the delimiter tab, only its end is removed, unless the line is blank.
inline std::string_view trimmed(std::string_view line, const Layout& layout) {
    if (layout.delimiter == ' ') return trim_line(line);
    while (!line.empty() && (line.back() == '\r' || line.back() == '\n')) line.remove_suffix(1);
    return trim_line(line).empty() ? std::string_view{} : line;
}

inline std::string count_of(std::size_t n, const char* one) {
    return std::to_string(n) + " " + one + (n == 1 ? "" : "s");
}

class ChunkReader {
public:
    ChunkReader(const ReadOptions& options, const Piece& piece, Chunk& chunk)
        : options_(options), layout_(options.layout), bytes_(piece.bytes), offset_(piece.offset), base_(piece.base()), chunk_(chunk),
          labels_(chunk.labels) {}

    void read() {
        std::size_t at = chunk_.begin + (offset_ + chunk_.begin == 0 ? marks_of(bytes_) : 0);
        reserve(at);
        Columns column;
        std::size_t nul = next_nul(at);
        while (at < chunk_.end && chunk_.faults.size() < options_.most_faults) {
            const char* begin = bytes_.data() + at;
#if defined(CRANFIELD_SSE2)
            std::size_t columns = 0, short_length = 0;
            if (layout_.delimiter == ' ' && bytes_.size() - at >= kShortLine && nul - at >= kShortLine && at != chunk_.header &&
                split_short_line(begin, column, columns, short_length)) {
                if (columns > 0 && column[0].front() != '#') take(column, columns, at);
                at += short_length + 1;
                continue;
            }
#endif
            const char* stop = static_cast<const char*>(std::memchr(begin, '\n', chunk_.end - at));
            const std::size_t length = stop ? static_cast<std::size_t>(stop - begin) : chunk_.end - at;
            std::string_view line{begin, length};
            line = trimmed(line, layout_);
            if (nul < at + length) {
                fault(at, "a NUL byte: binary data, expected text");
                nul = next_nul(at + length);
            } else if (!line.empty() && line.front() != '#' && at != chunk_.header) {
                take(column, split(line, layout_.delimiter, column), at);
            }
            at += length + 1;
        }
    }

private:
    // Text has no NUL byte. Looking for the next one is much faster than looking at every line.
    std::size_t next_nul(std::size_t at) const {
        const void* nul = at < chunk_.end ? std::memchr(bytes_.data() + at, 0, chunk_.end - at) : nullptr;
        return nul ? static_cast<std::size_t>(static_cast<const char*>(nul) - bytes_.data()) : chunk_.end + kShortLine;
    }

    void reserve(std::size_t at) {
        const std::size_t probe = std::min(chunk_.end, at + 4096);
        const auto lines = std::count(bytes_.data() + at, bytes_.data() + probe, '\n') + 1;
        const double share = static_cast<double>(chunk_.end - at) / static_cast<double>(std::max<std::size_t>(1, probe - at));
        const std::size_t likely = static_cast<std::size_t>(static_cast<double>(lines) * share * 1.05) + 16;
        chunk_.entries.reserve(likely);
        if (options_.keep_columns && layout_.rank >= 0) chunk_.ranks.reserve(likely);
        if (options_.keep_columns && layout_.label >= 0) chunk_.label.reserve(likely);
    }

    void fault(std::size_t at, std::string what) { chunk_.faults.push_back({chunk_.source, offset_ + at, std::move(what)}); }

    bool number(std::string_view text, std::size_t at, const char* what, double& into) {
        const auto parsed = parse_number(text);
        if (!parsed) {
            fault(at, std::string(what) + " is " + quoted(text) + ", expected a number");
            return false;
        }
        if (std::isnan(*parsed)) {
            fault(at, std::string(what) + " is " + quoted(text) + ", not a number that can be ordered");
            return false;
        }
        into = *parsed;
        return true;
    }

    void odd(int kind, std::size_t at, const char* name, std::string_view text, const char* why) {
        Oddity& found = chunk_.odd[static_cast<std::size_t>(kind)];
        if (found.count++ > 0) return;
        found.source = chunk_.source, found.kind = kind, found.offset = offset_ + at;
        found.what = std::string(name) + " is " + quoted(text) + why;
    }
    void look_at(const char* name, std::string_view text, double value, std::size_t at) {
        if (std::isinf(value)) odd(kInfinite, at, name, text, ", infinite as a 64-bit number");
        const std::size_t sign = text.front() == '-' || text.front() == '+' ? 1 : 0;
        if (text.size() > sign + 1 && (text[sign + 1] == 'x' || text[sign + 1] == 'X'))
            odd(kHexadecimal, at, name, text, ", which is read as a number in base 16");
    }
    void look_at_unused_rank(std::string_view text, std::size_t at) {
        const auto digit = [](char c) { return c >= '0' && c <= '9'; };
        if (!text.empty() && std::all_of(text.begin(), text.end(), digit)) return;  // nearly all, without parsing
        const auto parsed = parse_number(text);
        if (!parsed || std::isnan(*parsed))
            odd(kOddRank, at, "the rank", text, ", not a number; ranks are not used here");
        else
            look_at("the rank", text, *parsed, at);
    }

    static std::string_view text(const Columns& column, int number) { return column[static_cast<std::size_t>(number)]; }

    void take(const Columns& column, std::size_t count, std::size_t at) {
        if (count != layout_.roles.size()) {
            fault(at, count_of(count, "column") + ", expected " + std::to_string(layout_.roles.size()) + ": " +
                          layout_.expected);
            return;
        }
        const std::string_view topic = text(column, layout_.topic), doc = text(column, layout_.doc);
        const std::string_view name = layout_.name >= 0 ? text(column, layout_.name) : std::string_view{};
        if (doc.empty() || topic.empty()) {
            fault(at, std::string(doc.empty() ? "the document" : "the topic") + " is empty, expected " + layout_.expected);
            return;
        }
        if (doc.size() > kLongestId || topic.size() > kLongestId || name.size() > kLongestId) {
            fault(at, "an id has " + std::to_string(std::max({doc.size(), topic.size(), name.size()})) +
                          " bytes, at most " + std::to_string(kLongestId) + " are allowed");
            return;
        }
        double value = 0.0, rank = 0.0;
        const bool needs_rank = layout_.rank >= 0 && (options_.order == Order::rank || layout_.value < 0);
        if (layout_.value >= 0 && !number(text(column, layout_.value), at, value_name(), value)) return;
        if (needs_rank && !number(text(column, layout_.rank), at, "the rank", rank)) return;
        if (layout_.value >= 0) look_at(value_name(), text(column, layout_.value), value, at);
        if (needs_rank) look_at("the rank", text(column, layout_.rank), rank, at);
        if (layout_.rank >= 0 && !needs_rank && is_run()) look_at_unused_rank(text(column, layout_.rank), at);
        if (options_.keep_columns) {
            if (layout_.rank >= 0 && !needs_rank) rank = parse_number(text(column, layout_.rank)).value_or(std::nan(""));
            if (layout_.rank >= 0) chunk_.ranks.push_back(rank);
            if (layout_.label >= 0) chunk_.label.push_back(labels_.of(text(column, layout_.label)));
            if (layout_.value < 0) value = 1.0 / rank;
        } else if (needs_rank) {
            value = -rank;
        }
        if (chunk_.blocks.empty() || !same_text(chunk_.blocks.back().topic, topic) || !same_text(chunk_.blocks.back().name, name))
            chunk_.blocks.push_back({name, topic, static_cast<std::uint32_t>(chunk_.entries.size()), 0});
        ++chunk_.blocks.back().count;
        chunk_.entries.push_back({value, Id::at(base_, doc)});
    }

    // Judgments of a sample have their probability in the column of ranks, after the grade.
    bool is_run() const { return layout_.name >= 0 || layout_.rank < layout_.value; }
    const char* value_name() const { return layout_.name >= 0 || layout_.rank >= 0 ? "the score" : "the grade"; }

    const ReadOptions& options_;
    const Layout& layout_;
    std::string_view bytes_;
    std::size_t offset_;
    const char* base_;
    Chunk& chunk_;
    Numbering labels_;
};

// Finds the header in a piece, if the pieces before it had none: the first line of data.
inline std::size_t find_header(const Piece& piece, const Layout& layout, bool& wanted) {
    for (std::size_t at = piece.offset == 0 ? marks_of(piece.bytes) : 0; wanted && at < piece.bytes.size();) {
        const std::size_t end = std::min(piece.bytes.find('\n', at), piece.bytes.size());
        const std::string_view whole = piece.bytes.substr(at, end - at), line = trimmed(whole, layout);
        wanted = line.empty() || line.front() == '#' || whole.find('\0') != std::string_view::npos;
        if (!wanted) return at;
        at = end + 1;
    }
    return kNoHeader;
}

// Cuts the pieces of a window into chunks, in the memory of earlier chunks. `header_wanted`: the header of the first piece's
// source has not been found yet; afterwards, that of the last piece's source.
inline void cut(const Window& window, const ReadOptions& options, bool& header_wanted, std::vector<Chunk>& chunks) {
    std::size_t count = 0;
    for (std::size_t p = 0; p < window.size(); ++p) {
        const Piece& piece = window[p];
        if (piece.offset == 0) header_wanted = options.layout.header;
        const std::size_t header = find_header(piece, options.layout, header_wanted);
        for (std::size_t begin = 0; begin < piece.bytes.size();) {
            std::size_t end = std::min(piece.bytes.size(), begin + options.chunk_bytes);
            if (end < piece.bytes.size()) {
                const std::size_t newline = piece.bytes.find('\n', end - 1);
                end = newline == std::string_view::npos ? piece.bytes.size() : newline + 1;
            }
            if (count == chunks.size()) chunks.emplace_back();
            chunks[count].reuse(piece.source, p, begin, end);
            if (header >= begin && header < end) chunks[count].header = header;
            ++count;
            begin = end;
        }
    }
    chunks.resize(count);
}

// Reads the lines of a window; the calling thread does something else `meanwhile`.
inline void read_window(Lines& lines, const ReadOptions& options, bool& header_wanted, const std::function<void()>& meanwhile = {}) {
    cut(lines.window, options, header_wanted, lines.chunks);
    lines.stopped = !parallel_for(
        lines.chunks.size(), options.threads, options.watch,
        [&](std::size_t number, unsigned) {
            Chunk& chunk = lines.chunks[number];
            const Piece& piece = lines.window[chunk.piece];
            ChunkReader(options, piece, chunk).read();
            if (options.release) options.release(chunk.source, piece.bytes.substr(chunk.begin, chunk.end - chunk.begin));
        },
        meanwhile);
}

// Reads the lines of all sources at once.
inline Lines read_lines(const std::vector<Source>& sources, const ReadOptions& options) {
    Lines lines;
    for (std::size_t s = 0; s < sources.size(); ++s) lines.window.push_back({s, sources[s], 0, true});
    bool header_wanted = false;
    read_window(lines, options, header_wanted);
    return lines;
}

// A ranked list, or the judgments of one topic: its blocks, in file order.
struct List {
    std::int32_t run = 0;    // number of (source, name)
    std::int32_t topic = 0;  // number of the topic
    std::vector<std::pair<std::uint32_t, std::uint32_t>> blocks;  // (chunk, block)
    std::size_t size = 0;
};

struct Lists {
    std::vector<std::pair<std::size_t, std::string>> runs;  // (source, name)
    std::vector<std::vector<std::string>> tags;             // of each source, in order of first appearance
    std::vector<std::string> topics;
    std::vector<List> lists;
    std::vector<Fault> faults;
};

// If every line has its own tag, the last column is not a tag, and runs × topics would fill the memory.
constexpr std::size_t kMostRuns = 10'000;

enum class Group { by_topic, by_source, by_tag };

// Collects blocks into lists: of one topic; of one topic in one file; or of one topic and tag in one file.
inline Lists group(const std::vector<Chunk>& chunks, std::size_t sources, Group by) {
    Lists out;
    out.tags.resize(sources);
    std::vector<std::int32_t> run_of_source(sources, -1);
    std::unordered_map<std::string_view, std::int32_t, TextHash> topic_number;
    std::vector<std::unordered_map<std::string_view, std::int32_t, TextHash>> run_number(sources);
    std::unordered_map<std::uint64_t, std::size_t> list_number;
    for (std::uint32_t c = 0; c < chunks.size(); ++c) {
        const Chunk& chunk = chunks[c];
        for (std::uint32_t b = 0; b < chunk.blocks.size(); ++b) {
            const Block& block = chunk.blocks[b];
            const auto [topic, new_topic] =
                topic_number.try_emplace(block.topic, static_cast<std::int32_t>(out.topics.size()));
            if (new_topic) out.topics.emplace_back(block.topic);
            std::int32_t run = 0;
            if (by != Group::by_topic) {
                std::vector<std::string>& tags = out.tags[chunk.source];
                const auto [found, new_tag] =
                    run_number[chunk.source].try_emplace(block.name, static_cast<std::int32_t>(out.runs.size()));
                if (new_tag && tags.size() <= kMostRuns) tags.emplace_back(block.name);
                const bool new_run = new_tag && (by == Group::by_tag || tags.size() == 1);
                if (new_run) out.runs.emplace_back(chunk.source, std::string(block.name));
                if (new_run && tags.size() == 1) run_of_source[chunk.source] = found->second;
                if (new_run && tags.size() == kMostRuns + 1)
                    out.faults.push_back({chunk.source, chunk.entries[block.first].doc.offset(),
                                          "more than " + std::to_string(kMostRuns) +
                                              " runs in one file, expected the last column to name a few runs"});
                run = by == Group::by_tag ? found->second : run_of_source[chunk.source];
            }
            const std::uint64_t key = (static_cast<std::uint64_t>(run) << 32) | static_cast<std::uint32_t>(topic->second);
            const auto [list, new_list] = list_number.try_emplace(key, out.lists.size());
            if (new_list) out.lists.push_back({run, topic->second, {}, 0});
            out.lists[list->second].blocks.emplace_back(c, b);
            out.lists[list->second].size += block.count;
        }
    }
    return out;
}

// The end of a message about a document that appears twice in a list of a file with several tags.
inline std::string among_tags(const std::vector<std::string>& tags) {
    return tags.size() > 1 ? ", in a file with " + std::to_string(tags.size()) + " tags" : "";
}

// The line an offset is on, counted from 1.
inline std::size_t line_of(std::string_view bytes, std::size_t offset) {
    return 1 + static_cast<std::size_t>(std::count(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(offset), '\n'));
}

// Finds the lines of many offsets: newlines are counted once, in blocks.
class LineIndex {
public:
    explicit LineIndex(std::string_view bytes) : bytes_(bytes) {
        before_.reserve(bytes.size() / kBlock + 1);
        std::size_t lines = 1;
        for (std::size_t at = 0; at <= bytes.size(); at += kBlock) {
            before_.push_back(lines);
            lines += newlines(at, at + kBlock);
        }
    }
    std::size_t line(std::size_t offset) const {
        const std::size_t block = std::min(offset, bytes_.size()) / kBlock;
        return before_[block] + newlines(block * kBlock, offset);
    }
    // The line of an offset, where that of another one before it is known.
    std::size_t line_from(std::size_t known, std::size_t known_line, std::size_t offset) const {
        return offset - known < kBlock ? known_line + newlines(known, offset) : line(offset);
    }

private:
    static constexpr std::size_t kBlock = 1 << 10;
    std::size_t newlines(std::size_t begin, std::size_t end) const {
        const std::string_view part = bytes_.substr(begin, std::min(end, bytes_.size()) - begin);
        return static_cast<std::size_t>(std::count(part.begin(), part.end(), '\n'));
    }
    std::string_view bytes_;
    std::vector<std::size_t> before_;
};

// One index per source, created when it is first needed.
class LineIndexes {
public:
    explicit LineIndexes(const std::vector<Source>& sources) : sources_(sources), made_(sources.size()) {}
    // Creates all indexes, so that several threads may call `line`.
    void make_all() {
        for (std::size_t source = 0; source < sources_.size(); ++source) line(source, 0);
    }
    std::size_t line(std::size_t source, std::size_t offset) {
        if (!made_[source]) made_[source] = std::make_unique<LineIndex>(sources_[source]);
        return made_[source]->line(offset);
    }
    const LineIndex& of(std::size_t source) const { return *made_[source]; }

private:
    const std::vector<Source>& sources_;
    std::vector<std::unique_ptr<LineIndex>> made_;
};

// The lines of offsets that mostly rise, such as those of the entries of a list; all indexes have been made.
class RisingLines {
public:
    explicit RisingLines(const LineIndexes& indexes) : indexes_(indexes) {}
    std::size_t line(std::size_t source, std::size_t offset) {
        const bool after = line_ > 0 && source == source_ && offset >= offset_;
        const LineIndex& index = indexes_.of(source);
        line_ = after ? index.line_from(offset_, line_, offset) : index.line(offset);
        source_ = source, offset_ = offset;
        return line_;
    }

private:
    const LineIndexes& indexes_;
    std::size_t source_ = 0, offset_ = 0, line_ = 0;
};

// Adds the oddities of chunks, which follow one another in their files, to those of earlier chunks.
inline void add_oddities(const std::vector<Chunk>& chunks, std::vector<Oddity>& all) {
    for (const Chunk& chunk : chunks)
        for (const Oddity& odd : chunk.odd) {
            if (odd.count == 0) continue;
            const auto known = std::find_if(all.begin(), all.end(), [&](const Oddity& other) {
                return other.source == odd.source && other.kind == odd.kind;
            });
            if (known == all.end())
                all.push_back(odd);
            else
                known->count += odd.count;
        }
}

// Faults of all chunks in file order.
inline std::vector<Fault> collect_faults(const std::vector<Chunk>& chunks, std::size_t most) {
    std::vector<Fault> faults;
    for (const Chunk& chunk : chunks)
        for (const Fault& fault : chunk.faults)
            if (faults.size() < most) faults.push_back(fault);
    return faults;
}

}  // namespace cranfield
