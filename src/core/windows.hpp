// Files of any size, one window after the other: a window holds whole lines of one file, or of several small ones.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

namespace cranfield {

// Consecutive bytes of a source, which end with a line unless the source ends there.
struct Piece {
    std::size_t source = 0;
    std::string_view bytes;
    std::size_t offset = 0;  // of the first byte in the source
    bool last = false;       // nothing follows; such a piece may be empty

    // What offsets in the source are counted from; only the bytes of this piece may be read.
    const char* base() const {
        return reinterpret_cast<const char*>(reinterpret_cast<std::uintptr_t>(bytes.data()) - offset);
    }
};

// The bytes of one source in order. At most two pieces are in use at a time.
class Feed {
public:
    Feed() = default;
    virtual ~Feed() = default;
    Feed(const Feed&) = delete;
    Feed& operator=(const Feed&) = delete;

    // The next piece, of about so many bytes. False if it cannot be read; then the reason is kept elsewhere.
    virtual bool next(std::size_t bytes, Piece& piece) = 0;
    // A piece is not needed any more.
    virtual void done(const Piece&) {}
    // Begins again. False if that is impossible; then the reason is kept elsewhere.
    virtual bool rewind() = 0;
    // Gives memory back; a piece that is still in use becomes invalid.
    virtual void close() {}
    // The number of bytes if it is known, else 0.
    virtual std::size_t size() const { return 0; }
    // For progress: bytes of the file that were read, and all of them; 0 if unknown.
    virtual std::size_t position() const = 0;
    virtual std::size_t length() const { return size(); }
};

// Bytes in memory, or a mapped file, whose pages are released when they are done.
class MemoryFeed : public Feed {
public:
    explicit MemoryFeed(std::string_view bytes, std::function<void(const char*, std::size_t)> release = {})
        : bytes_(bytes), release_(std::move(release)) {}

    bool next(std::size_t bytes, Piece& piece) override {
        std::size_t end = bytes < bytes_.size() - at_ ? at_ + std::max<std::size_t>(bytes, 1) : bytes_.size();
        if (end < bytes_.size()) {
            const std::size_t newline = bytes_.find('\n', end - 1);
            end = newline == std::string_view::npos ? bytes_.size() : newline + 1;
        }
        piece.bytes = bytes_.substr(at_, end - at_);
        piece.offset = at_;
        piece.last = end == bytes_.size();
        at_ = end;
        return true;
    }
    void done(const Piece& piece) override {
        if (release_ && !piece.bytes.empty()) release_(piece.bytes.data(), piece.bytes.size());
    }
    bool rewind() override {
        at_ = 0;
        return true;
    }
    std::size_t size() const override { return bytes_.size(); }
    std::size_t position() const override { return at_; }

private:
    std::string_view bytes_;
    std::size_t at_ = 0;
    std::function<void(const char*, std::size_t)> release_;
};

// Bytes that arrive in blocks, such as those of a compressed file or a pipe.
class BlockFeed : public Feed {
public:
    // `read` adds a block to the buffer; it sets `ended` if there is none, and returns false if it fails. `position` is how
    // much of the file has been read, for progress.
    using Read = std::function<bool(std::vector<char>& buffer, bool& ended, std::size_t& position)>;

    BlockFeed(Read read, std::function<bool()> again, std::size_t length)
        : read_(std::move(read)), again_(std::move(again)), length_(length) {}

    bool next(std::size_t bytes, Piece& piece) override {
        std::vector<char>& buffer = buffers_[turn_ ^= 1];
        buffer.assign(rest_.begin(), rest_.end());
        rest_.clear();
        buffer.reserve(bytes + kBlock);
        std::size_t searched = 0, lines = 0;  // `lines`: where the last whole line ends
        while (!ended_ && (buffer.size() < bytes || lines == 0)) {
            if (!read_(buffer, ended_, position_)) return false;
            for (std::size_t i = buffer.size(); i > searched; --i)
                if (buffer[i - 1] == '\n') {
                    lines = i;
                    break;
                }
            searched = buffer.size();
        }
        if (!ended_) {
            rest_.assign(buffer.begin() + static_cast<std::ptrdiff_t>(lines), buffer.end());
            buffer.resize(lines);
        }
        piece.bytes = {buffer.data(), buffer.size()};
        piece.offset = at_;
        piece.last = ended_;
        at_ += buffer.size();
        return true;
    }
    bool rewind() override {
        at_ = 0;
        ended_ = false;
        rest_.clear();
        return again_();
    }
    void close() override {
        buffers_[0] = {}, buffers_[1] = {}, rest_ = {};
    }
    std::size_t position() const override { return position_; }
    std::size_t length() const override { return length_; }

private:
    static constexpr std::size_t kBlock = std::size_t{1} << 20;  // what a block often has

    Read read_;
    std::function<bool()> again_;
    std::size_t length_, position_ = 0;
    std::vector<char> buffers_[2], rest_;
    unsigned turn_ = 0;
    std::size_t at_ = 0;
    bool ended_ = false;
};

using Feeds = std::vector<std::unique_ptr<Feed>>;
using Window = std::vector<Piece>;

// Takes windows from sources, in their order.
class Windows {
public:
    Windows(const Feeds& feeds, std::size_t bytes) : feeds_(feeds), bytes_(bytes) {}

    // The next window; empty at the end. False if a source cannot be read.
    bool take(Window& window) {
        window.clear();
        std::size_t size = 0;
        while (source_ < feeds_.size()) {
            Feed& feed = *feeds_[source_];
            const bool fits = begun_ || (feed.size() > 0 && size + feed.size() <= bytes_);
            if (!window.empty() && (!fits || size >= bytes_)) break;
            Piece piece;
            if (!feed.next(bytes_ - std::min(size, bytes_ - 1), piece)) return false;
            piece.source = source_;
            size += piece.bytes.size();
            window.push_back(piece);
            begun_ = !piece.last;
            if (begun_) break;
            ++source_;
        }
        return true;
    }

private:
    const Feeds& feeds_;
    std::size_t bytes_;
    std::size_t source_ = 0;
    bool begun_ = false;  // a part of the source was taken
};

// The line of an offset in a source, counted from 1. Reads the source from its beginning; 0 if that fails.
inline std::size_t line_in(Feed& feed, std::size_t offset) {
    constexpr std::size_t kBytes = std::size_t{1} << 20;
    if (!feed.rewind()) return 0;
    std::size_t line = 1;
    for (Piece piece; !piece.last;) {
        if (!feed.next(kBytes, piece)) return 0;
        const std::string_view before = piece.bytes.substr(0, std::min(piece.bytes.size(), offset - std::min(offset, piece.offset)));
        line += static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n'));
        feed.done(piece);
        if (piece.offset + piece.bytes.size() >= offset) break;
    }
    return line;
}

}  // namespace cranfield
