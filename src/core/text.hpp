// Lines, columns and numbers: from bytes to string views and doubles, never past the end of a buffer.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ids.hpp"

// Instructions that every 64-bit x86 processor has.
#if (defined(__SSE2__) || defined(_M_X64)) && !defined(CRANFIELD_PORTABLE)
#define CRANFIELD_SSE2
#include <emmintrin.h>
#endif

// libc++ before LLVM 20 cannot parse doubles with from_chars.
#if !defined(__cpp_lib_to_chars) || defined(CRANFIELD_PORTABLE)
#define CRANFIELD_STRTOD
#include <cerrno>
#include <clocale>
#include <cstdlib>
#if defined(__APPLE__) || defined(__FreeBSD__)
#include <xlocale.h>
#endif
#endif

namespace cranfield {

constexpr std::size_t kMostColumns = 16;
constexpr std::size_t kShortLine = 64;  // bytes that `split_short_line` looks at

enum class Role : std::uint8_t { skip, topic, label, doc, rank, value, name };

// The meaning of each column, and the character between columns.
struct Layout {
    std::vector<Role> roles;
    char delimiter = ' ';  // ' ': any number of spaces and tabs
    bool header = false;
    std::string expected;  // for messages: "topic Q0 doc rank score tag"
    int topic = -1, label = -1, doc = -1, rank = -1, value = -1, name = -1;

    void index_roles() {
        for (int c = 0; c < static_cast<int>(roles.size()); ++c) {
            switch (roles[static_cast<std::size_t>(c)]) {
                case Role::topic: topic = c; break;
                case Role::label: label = c; break;
                case Role::doc: doc = c; break;
                case Role::rank: rank = c; break;
                case Role::value: value = c; break;
                case Role::name: name = c; break;
                case Role::skip: break;
            }
        }
    }
};

inline bool is_blank(char c) { return c == ' ' || c == '\t'; }

inline std::string_view trim_line(std::string_view line) {
    while (!line.empty() && (line.back() == '\r' || is_blank(line.back()))) line.remove_suffix(1);
    while (!line.empty() && is_blank(line.front())) line.remove_prefix(1);
    return line;
}

using Columns = std::array<std::string_view, kMostColumns>;

// Splits a trimmed line. Returns the number of columns, which may be more than are stored.
inline std::size_t split(std::string_view line, char delimiter, Columns& columns) {
    std::size_t count = 0;
    const char* p = line.data();
    const char* const end = p + line.size();
    if (delimiter == ' ') {
        while (p < end) {
            const char* begin = p;
            while (p < end && !is_blank(*p)) ++p;
            if (count < kMostColumns) columns[count] = {begin, static_cast<std::size_t>(p - begin)};
            ++count;
            while (p < end && is_blank(*p)) ++p;
        }
        return count;
    }
    while (true) {
        const char* stop = static_cast<const char*>(std::memchr(p, delimiter, static_cast<std::size_t>(end - p)));
        if (stop == nullptr) stop = end;
        if (count < kMostColumns) columns[count] = trim_line({p, static_cast<std::size_t>(stop - p)});
        ++count;
        if (stop == end) return count;
        p = stop + 1;
    }
}

#if defined(CRANFIELD_SSE2)
// One bit for each of 64 bytes: is it a blank, is it a newline?
struct Marks {
    std::uint64_t blank = 0, newline = 0;
};

inline Marks mark64(const char* p) {
    const __m128i space = _mm_set1_epi8(' '), tab = _mm_set1_epi8('\t'), newline = _mm_set1_epi8('\n');
    Marks marks;
    for (int part = 0; part < 4; ++part) {
        const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p) + part);
        const auto bits = [part](__m128i equal) {
            return static_cast<std::uint64_t>(static_cast<std::uint32_t>(_mm_movemask_epi8(equal))) << (16 * part);
        };
        marks.blank |= bits(_mm_or_si128(_mm_cmpeq_epi8(bytes, space), _mm_cmpeq_epi8(bytes, tab)));
        marks.newline |= bits(_mm_cmpeq_epi8(bytes, newline));
    }
    return marks;
}

// Splits the line that begins at `p` at blanks, if it ends within 64 bytes, and sets its length. All 64 bytes must be
// readable. Returns false for unusual lines, which `split` handles.
inline bool split_short_line(const char* p, Columns& columns, std::size_t& count, std::size_t& length) {
    const Marks marks = mark64(p);
    if (marks.newline == 0) return false;
    length = static_cast<std::size_t>(std::countr_zero(marks.newline));
    const std::uint64_t line = (std::uint64_t{1} << length) - 1;
    std::uint64_t text = ~marks.blank & line;
    if (length > 0 && p[length - 1] == '\r') {
        text &= line >> 1;
        if (length < 2 || p[length - 2] == '\r' || is_blank(p[length - 2])) return false;
    }
    std::uint64_t begins = text & ~(text << 1);
    std::uint64_t ends = ~text & (text << 1);
    for (count = 0; begins != 0; ++count) {
        if (count == kMostColumns) return false;
        const int begin = std::countr_zero(begins), end = std::countr_zero(ends);
        columns[count] = {p + begin, static_cast<std::size_t>(end - begin)};
        begins &= begins - 1;
        ends &= ends - 1;
    }
    return true;
}
#endif

// Eight digits as a number, from the difference between each byte and '0'; the first digit is in the lowest byte.
inline std::uint64_t join_digits(std::uint64_t digits) {
    digits = digits * 10 + (digits >> 8);
    return (((digits & 0x000000ff'000000ffULL) * 0x000f4240'00000064ULL) +
            (((digits >> 16) & 0x000000ff'000000ffULL) * 0x00002710'00000001ULL)) >> 32;
}

// The digits of a text such as 20.348121 as one number, and how many follow the point, eight at a time: 8 to 16 characters,
// with a point among the first 8 and with 1 to 8 digits after it. Returns false for all other texts.
inline bool read_point_number(std::string_view text, std::uint64_t& digits, int& after_point) {
    if constexpr (std::endian::native != std::endian::little) return false;
    if (text.size() < 8 || text.size() > 16) return false;
    constexpr std::uint64_t kZeros = 0x30303030'30303030ULL, kPoints = 0x2e2e2e2e'2e2e2e2eULL;
    constexpr std::uint64_t kOnes = 0x01010101'01010101ULL, kHigh = 0x80808080'80808080ULL;
    std::uint64_t first = 0, last = 0;
    std::memcpy(&first, text.data(), 8);
    std::memcpy(&last, text.data() + text.size() - 8, 8);
    const std::uint64_t differs = first ^ kPoints;
    const std::uint64_t points = (differs - kOnes) & ~differs & kHigh;  // its lowest bit is that of the first point
    if (points == 0) return false;
    const auto before = static_cast<std::size_t>(std::countr_zero(points)) / 8;
    const std::size_t after = text.size() - before - 1;
    if (before == 0 || after == 0 || after > 8) return false;
    const std::uint64_t whole = (first ^ kZeros) << (8 * (8 - before));
    const std::uint64_t fraction = (last ^ kZeros) & (~std::uint64_t{0} << (8 * (8 - after)));
    constexpr std::uint64_t kAboveNine = 0x76767676'76767676ULL;  // added to a byte of more than 9, it sets the highest bit
    if ((((whole & ~kHigh) + kAboveNine) | whole | ((fraction & ~kHigh) + kAboveNine) | fraction) & kHigh) return false;
    static constexpr std::uint64_t kPower[] = {1, 10, 100, 1000, 10'000, 100'000, 1'000'000, 10'000'000, 100'000'000};
    digits = join_digits(whole) * kPower[after] + join_digits(fraction);
    after_point = static_cast<int>(after);
    return true;
}

// 10^n is exact in a double up to n = 22, and so is an integer of up to 15 digits: their quotient is rounded correctly.
inline std::optional<double> parse_plain_decimal(std::string_view text) {
    static constexpr double kPower[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                        1e12, 1e13, 1e14, 1e15};
    const bool negative = !text.empty() && text.front() == '-';
    if (negative) text.remove_prefix(1);
    if (text.empty() || text.size() > 16) return std::nullopt;
    std::uint64_t digits = 0;
    int after_point = -1;
    if (!read_point_number(text, digits, after_point)) {
        int seen = 0;
        for (char c : text) {
            if (c >= '0' && c <= '9') {
                digits = digits * 10 + static_cast<std::uint64_t>(c - '0');
                ++seen;
                if (after_point >= 0) ++after_point;
            } else if (c == '.' && after_point < 0) {
                after_point = 0;
            } else {
                return std::nullopt;
            }
        }
        if (seen == 0 || seen > 15) return std::nullopt;
    }
    double number = static_cast<double>(digits);
    if (after_point > 0) number /= kPower[after_point];
    return negative ? -number : number;
}

// Whether a number that does not fit a double is too large; if not, it is too small.
inline bool overflows(std::string_view text) {
    const bool hex = text.size() > 1 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    const std::size_t mark = text.find_first_of(hex ? "pP" : "eE");
    long exponent = 0;
    if (mark != std::string_view::npos) {
        std::string_view digits = text.substr(mark + 1);
        const bool negative = !digits.empty() && digits.front() == '-';
        if (!digits.empty() && (digits.front() == '-' || digits.front() == '+')) digits.remove_prefix(1);
        const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), exponent);
        if (read.ec == std::errc::result_out_of_range) exponent = 1'000'000'000;
        if (negative) exponent = -exponent;
    }
    std::string_view mantissa = text.substr(hex ? 2 : 0, mark == std::string_view::npos ? mark : mark - (hex ? 2 : 0));
    const std::size_t point = std::min(mantissa.find('.'), mantissa.size());
    const std::size_t first = mantissa.find_first_not_of("0.");
    if (first == std::string_view::npos) return false;
    const long place = static_cast<long>(point) - static_cast<long>(first);
    return exponent + (hex ? 4 : 1) * place > 0;
}

// Parses the longest number at the beginning of a text without a sign, as std::from_chars does.
inline std::from_chars_result parse_unsigned(std::string_view text, bool hex, double& number) {
#if !defined(CRANFIELD_STRTOD)
    return std::from_chars(text.data(), text.data() + text.size(), number, hex ? std::chars_format::hex : std::chars_format::general);
#else
    // strtod needs a text that ends with a zero byte, skips blanks, knows signs and prefixes, and depends on the locale.
    std::string copy = hex ? "0x" : "";
    copy += text;
    const char first = text.empty() ? ' ' : text.front();
    const bool digit = (first >= '0' && first <= '9') || first == '.';
    const bool letter = !hex && (first == 'i' || first == 'I' || first == 'n' || first == 'N');
    const bool hex_digit = hex && ((first >= 'a' && first <= 'f') || (first >= 'A' && first <= 'F'));
    const bool prefix = text.size() > 1 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    if (!(digit || letter || hex_digit)) return {text.data(), std::errc::invalid_argument};
    if (prefix) return {text.data() + 1, std::errc()};
    char* end = nullptr;
    errno = 0;
#if defined(_WIN32)
    static const _locale_t locale = _create_locale(LC_ALL, "C");
    number = _strtod_l(copy.c_str(), &end, locale);
#else
    static const locale_t locale = newlocale(LC_ALL_MASK, "C", nullptr);
    number = strtod_l(copy.c_str(), &end, locale);
#endif
    const auto used = static_cast<std::size_t>(end - copy.c_str());
    const std::size_t before = hex ? 2 : 0;
    if (used <= before) return {text.data(), std::errc::invalid_argument};
    const bool out_of_range = errno == ERANGE && (number == 0.0 || std::isinf(number));
    return {text.data() + (used - before), out_of_range ? std::errc::result_out_of_range : std::errc()};
#endif
}

// Accepts every float syntax of C, including inf, if it is the whole text. NaN is accepted too: the caller rejects it.
inline std::optional<double> parse_number(std::string_view text) {
    if (auto plain = parse_plain_decimal(text)) return plain;
    bool negative = false;
    if (!text.empty() && (text.front() == '+' || text.front() == '-')) {
        negative = text.front() == '-';
        text.remove_prefix(1);
    }
    if (text.empty() || text.front() == '-' || text.front() == '+') return std::nullopt;
    const bool hex = text.size() > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    const std::string_view body = hex ? text.substr(2) : text;
    if (hex && (body.front() == '-' || body.front() == '+' || body.front() == 'i' || body.front() == 'n' ||
                body.front() == 'I' || body.front() == 'N'))
        return std::nullopt;
    double number = 0.0;
    const auto read = parse_unsigned(body, hex, number);
    if (read.ptr != body.data() + body.size() || read.ec == std::errc::invalid_argument) return std::nullopt;
    if (read.ec == std::errc::result_out_of_range)
        number = overflows(text) ? std::numeric_limits<double>::infinity() : 0.0;
    return negative ? -number : number;
}

// A piece of input for a message: shortened, printable, in quotes.
inline std::string quoted(std::string_view text) {
    std::string out = "'";
    std::size_t used = 0;
    for (const char character : text) {
        if (used++ == 60) {
            out += "...";
            break;
        }
        const auto c = static_cast<unsigned char>(character);
        if (c < 0x20 || c == 0x7f) {
            static constexpr char kHex[] = "0123456789abcdef";
            out += "\\x";
            out += kHex[c >> 4];
            out += kHex[c & 15];
        } else {
            out += character;
        }
    }
    return out + "'";
}

}  // namespace cranfield
