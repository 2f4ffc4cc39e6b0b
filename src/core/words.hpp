// Texts as numbered words: every word of many texts gets a number once, and counting works on numbers.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ids.hpp"
#include "stemmer.hpp"

namespace cranfield {

using TextSet = std::unordered_set<std::string, TextHash, std::equal_to<>>;
using TextMap = std::unordered_map<std::string, std::string, TextHash, std::equal_to<>>;

// How a text becomes words. Lines are sentences.
struct WordRules {
    bool ascii = true;  // words are runs of ASCII letters and digits, in lower case; otherwise they are between blanks
    Stemmer stemmer = Stemmer::none;
    TextSet stop_words;
    TextMap exceptions;  // the stem of words that the stemmer does not see
};

class Words {
public:
    explicit Words(WordRules rules) : rules_(std::move(rules)), stemmer_(rules_.stemmer) {}

    std::vector<std::int32_t> word;                // text after text, sentence after sentence
    std::vector<std::int64_t> sentence_start{0};   // in `word`; sentences without words are left out
    std::vector<std::int64_t> text_start{0};       // in `sentence_start`
    std::vector<std::string> vocabulary;

    void add(std::string_view text) {
        std::size_t at = 0;
        while (at < text.size()) {
            const char c = text[at];
            if (c == '\n') end_sentence();
            if (is_word(c)) {
                const std::size_t begin = at;
                while (at < text.size() && is_word(text[at])) ++at;
                add_word(text.substr(begin, at - begin));
            } else
                ++at;
        }
        end_sentence();
        text_start.push_back(static_cast<std::int64_t>(sentence_start.size()) - 1);
    }

    std::size_t size() const { return text_start.size() - 1; }
    std::span<const std::int32_t> text(std::size_t number) const {
        return part(sentence_start[at(text_start, number)], sentence_start[at(text_start, number + 1)]);
    }
    std::size_t first_sentence(std::size_t number) const { return at(text_start, number); }
    std::size_t last_sentence(std::size_t number) const { return at(text_start, number + 1); }
    std::span<const std::int32_t> sentence(std::size_t number) const { return part(sentence_start[number], sentence_start[number + 1]); }

private:
    static constexpr std::int32_t no_word = -1;

    static std::size_t at(const std::vector<std::int64_t>& starts, std::size_t number) { return static_cast<std::size_t>(starts[number]); }
    std::span<const std::int32_t> part(std::int64_t begin, std::int64_t end) const {
        return {word.data() + begin, static_cast<std::size_t>(end - begin)};
    }
    bool is_word(char c) const {
        if (!rules_.ascii) return c != ' ' && c != '\n';
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    }
    void end_sentence() {
        if (static_cast<std::int64_t>(word.size()) > sentence_start.back()) sentence_start.push_back(static_cast<std::int64_t>(word.size()));
    }
    void add_word(std::string_view surface) {
        if (rules_.ascii) {
            lower_.assign(surface);
            for (char& c : lower_)
                if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
            surface = lower_;
        }
        auto known = numbers_.find(surface);
        if (known == numbers_.end()) known = numbers_.emplace(std::string(surface), number_of(surface)).first;
        if (known->second != no_word) word.push_back(known->second);
    }
    // The number of a word that is seen for the first time; several words may share a stem.
    std::int32_t number_of(std::string_view surface) {
        if (rules_.stop_words.contains(surface)) return no_word;
        const std::string stem = stem_of(surface);
        if (vocabulary.size() >= static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max())) throw std::length_error("too many different words");
        const auto [entry, fresh] = stems_.emplace(stem, static_cast<std::int32_t>(vocabulary.size()));
        if (fresh) vocabulary.push_back(stem);
        return entry->second;
    }
    std::string stem_of(std::string_view surface) {
        if (rules_.stemmer == Stemmer::none || surface.size() <= 3) return std::string(surface);
        if (const auto exception = rules_.exceptions.find(surface); exception != rules_.exceptions.end()) return exception->second;
        for (const char c : surface)
            if (static_cast<unsigned char>(c) >= 0x80) return std::string(surface);  // the rules are those of English
        return stemmer_.stem(surface);
    }

    WordRules rules_;
    PorterStemmer stemmer_;
    std::string lower_;
    std::unordered_map<std::string, std::int32_t, TextHash, std::equal_to<>> numbers_, stems_;
};

}  // namespace cranfield
