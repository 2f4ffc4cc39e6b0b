// Document ids as places in a buffer, and the hash by which they are found.
#pragma once

#include <cstdint>
#include <cstring>
#include <random>
#include <string_view>

namespace cranfield {

// Offset (48 bits) and length (16 bits) of an id in a buffer: 8 bytes a document.
struct Id {
    std::uint64_t packed;

    static Id at(const char* base, std::string_view text) {
        const auto offset = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(text.data()) -
                                                       reinterpret_cast<std::uintptr_t>(base));
        return {offset | (static_cast<std::uint64_t>(text.size()) << 48)};
    }
    std::uint64_t offset() const { return packed & 0xffff'ffff'ffffULL; }
    std::size_t length() const { return packed >> 48; }
    std::string_view in(const char* base) const {
        return {reinterpret_cast<const char*>(reinterpret_cast<std::uintptr_t>(base) + offset()), length()};
    }
};

inline std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
    const auto product = static_cast<unsigned __int128>(a) * b;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

template <typename Word>
std::uint64_t load(const char* p) {
    Word word;
    std::memcpy(&word, p, sizeof word);
    return word;
}

// The first 8 bytes of a short text, or all of it, as one number; never a byte past its end.
inline std::uint64_t load_short(const char* p, std::size_t bytes) {
    if (bytes >= 8) return load<std::uint64_t>(p);
    if (bytes >= 4) return load<std::uint32_t>(p) | (load<std::uint32_t>(p + bytes - 4) << 32);
    if (bytes == 0) return 0;
    const auto byte = [p](std::size_t i) { return static_cast<std::uint64_t>(static_cast<unsigned char>(p[i])); };
    return byte(0) | (byte(bytes / 2) << 8) | (byte(bytes - 1) << 16);
}

// Whether two texts are the same; for ids, which are short, this is quicker than a call of memcmp.
inline bool same_text(std::string_view a, std::string_view b) {
    if (a.size() != b.size()) return false;
    if (a.size() <= 8) return load_short(a.data(), a.size()) == load_short(b.data(), b.size());
    if (a.size() > 64) return a == b;
    const std::size_t last = a.size() - 8;
    for (std::size_t at = 0; at < last; at += 8)
        if (load<std::uint64_t>(a.data() + at) != load<std::uint64_t>(b.data() + at)) return false;
    return load<std::uint64_t>(a.data() + last) == load<std::uint64_t>(b.data() + last);
}

// Seeded once a process, so that nobody can prepare ids that collide. No result depends on it.
inline std::uint64_t hash_id(std::string_view id) {
    static const std::uint64_t seed = [] {
        std::random_device device;
        return (static_cast<std::uint64_t>(device()) << 32) ^ device();
    }();
    std::uint64_t h = seed ^ (id.size() * 0x9e3779b97f4a7c15ULL);
    const char* p = id.data();
    std::size_t left = id.size();
    for (; left > 8; left -= 8, p += 8) h = mix(h ^ load<std::uint64_t>(p), 0xd6e8feb86659fd93ULL);
    return mix(h ^ load_short(p, left), 0xa0761d6478bd642fULL);
}

}  // namespace cranfield
