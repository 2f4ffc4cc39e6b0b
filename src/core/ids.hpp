// Document ids as places in a buffer, and their hash.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <stdexcept>
#include <string_view>

#if defined(_MSC_VER) && defined(_M_X64)
#include <intrin.h>
#endif

namespace cranfield {

constexpr std::size_t kLongestId = 65535;

// Offset (48 bits) and length (16 bits) of an id in a buffer: 8 bytes per document. With the null pointer as the base, the
// offset is an address.
struct Id {
    std::uint64_t packed;

    static Id make(std::uint64_t offset, std::size_t length) {
        if ((offset >> 48) != 0 || length > kLongestId) refuse(length);
        return {offset | (static_cast<std::uint64_t>(length) << 48)};
    }
    static Id at(const char* base, std::string_view text) {
        return make(reinterpret_cast<std::uintptr_t>(text.data()) - reinterpret_cast<std::uintptr_t>(base), text.size());
    }
    std::size_t offset() const { return static_cast<std::size_t>(packed & 0xffff'ffff'ffffULL); }
    std::size_t length() const { return static_cast<std::size_t>(packed >> 48); }
    std::string_view in(const char* base) const {
        return {reinterpret_cast<const char*>(reinterpret_cast<std::uintptr_t>(base) + offset()), length()};
    }

private:
    [[noreturn]] static void refuse(std::size_t length) {
        if (length > kLongestId) throw std::length_error("an id is longer than 65535 bytes");
        throw std::length_error(
            "an id lies at an offset or address of more than 48 bits; write the run to a file and evaluate the file");
    }
};

// The upper half of a product of two 64-bit numbers, xor its lower half; from four products of 32-bit numbers.
constexpr std::uint64_t mix_by_halves(std::uint64_t a, std::uint64_t b) {
    const std::uint64_t a_low = a & 0xffff'ffff, a_high = a >> 32, b_low = b & 0xffff'ffff, b_high = b >> 32;
    const std::uint64_t low = a_low * b_low;
    const std::uint64_t middle = a_high * b_low + (low >> 32);
    const std::uint64_t other = a_low * b_high + (middle & 0xffff'ffff);
    const std::uint64_t high = a_high * b_high + (middle >> 32) + (other >> 32);
    return high ^ (a * b);
}

// The same in one instruction, if the compiler knows how.
#if defined(__SIZEOF_INT128__) && !defined(CRANFIELD_PORTABLE)
__extension__ typedef unsigned __int128 Product;
constexpr std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
    const auto product = static_cast<Product>(a) * b;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

// Both agree, for the largest numbers and for a thousand others.
constexpr bool mixes_agree() {
    if (mix(~0ULL, ~0ULL) != mix_by_halves(~0ULL, ~0ULL) || mix(0, ~0ULL) != mix_by_halves(0, ~0ULL)) return false;
    std::uint64_t a = 1, b = ~0ULL;
    for (int i = 0; i < 1000; ++i) {
        if (mix(a, b) != mix_by_halves(a, b)) return false;
        a = a * 0x5851f42d4c957f2dULL + 1;
        b ^= (a >> 7) * 0x14057b7ef767814fULL;
    }
    return true;
}
static_assert(mixes_agree());
#elif defined(_MSC_VER) && defined(_M_X64) && !defined(CRANFIELD_PORTABLE)
inline std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
    std::uint64_t high = 0;
    const std::uint64_t low = _umul128(a, b, &high);
    return low ^ high;
}
#else
constexpr std::uint64_t mix(std::uint64_t a, std::uint64_t b) { return mix_by_halves(a, b); }
#endif

template <typename Word>
std::uint64_t load(const char* p) {
    Word word;
    std::memcpy(&word, p, sizeof word);
    return word;
}

// The first 8 bytes of a text, or all of it if it is shorter, as one number; never reads past its end. The number depends on
// the byte order of the machine, but whether two numbers are equal does not.
inline std::uint64_t load_short(const char* p, std::size_t bytes) {
    if (bytes >= 8) return load<std::uint64_t>(p);
    if (bytes >= 4) return load<std::uint32_t>(p) | (load<std::uint32_t>(p + bytes - 4) << 32);
    if (bytes == 0) return 0;
    const auto byte = [p](std::size_t i) { return static_cast<std::uint64_t>(static_cast<unsigned char>(p[i])); };
    return byte(0) | (byte(bytes / 2) << 8) | (byte(bytes - 1) << 16);
}

// Whether two texts are the same. Ids are short: this is faster than a call of memcmp.
inline bool same_text(std::string_view a, std::string_view b) {
    if (a.size() != b.size()) return false;
    if (a.size() <= 8) return load_short(a.data(), a.size()) == load_short(b.data(), b.size());
    if (a.size() > 64) return a == b;
    const std::size_t last = a.size() - 8;
    for (std::size_t at = 0; at < last; at += 8)
        if (load<std::uint64_t>(a.data() + at) != load<std::uint64_t>(b.data() + at)) return false;
    return load<std::uint64_t>(a.data() + last) == load<std::uint64_t>(b.data() + last);
}

// Seeded once per process, so that ids cannot be chosen to collide. No result depends on the hash.
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

// For tables of texts that are looked up without a copy.
struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return hash_id(text); }
};

}  // namespace cranfield
