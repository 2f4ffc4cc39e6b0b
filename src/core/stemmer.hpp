// Porter's stemmer for lower-case ASCII words, in the three variants that ROUGE scores are computed with.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace cranfield {

enum class Stemmer {
    none,
    porter,  // Porter's own release: bli -> ble and logi -> log, and words of two letters are left alone
    rouge,   // that of ROUGE-1.5.5: in step 4, -ment and -ent are tried after the other endings, on what these leave
    nltk,    // that of NLTK, which rouge-score uses: some irregular words, and changed rules for y, -ies, -ied, -alli, -fulli
};

class PorterStemmer {
public:
    explicit PorterStemmer(Stemmer variant) : nltk_(variant == Stemmer::nltk), rouge_(variant == Stemmer::rouge) {}

    std::string stem(std::string_view word) {
        if (nltk_)
            for (const auto& [form, base] : irregular)
                if (word == form) return std::string(base);
        w_ = word;
        if (w_.size() <= 2) return w_;
        plural();
        past_or_progressive();
        final_y();
        double_suffix();
        derived_adjective();
        rouge_ ? long_suffix_of_rouge() : long_suffix();
        final_e();
        if (ends("ll") && measure(w_.size()) > 1) w_.pop_back();  // step 5b
        return w_;
    }

private:
    using Rule = std::pair<std::string_view, std::string_view>;

    static constexpr std::array<Rule, 16> irregular{{{"sky", "sky"}, {"skies", "sky"}, {"dying", "die"}, {"lying", "lie"}, {"tying", "tie"},
        {"news", "news"}, {"innings", "inning"}, {"inning", "inning"}, {"outings", "outing"}, {"outing", "outing"}, {"cannings", "canning"},
        {"canning", "canning"}, {"howe", "howe"}, {"proceed", "proceed"}, {"exceed", "exceed"}, {"succeed", "succeed"}}};
    static constexpr std::array<Rule, 21> step2{{{"ational", "ate"}, {"tional", "tion"}, {"enci", "ence"}, {"anci", "ance"}, {"izer", "ize"},
        {"bli", "ble"}, {"alli", "al"}, {"entli", "ent"}, {"eli", "e"}, {"ousli", "ous"}, {"ization", "ize"}, {"ation", "ate"}, {"ator", "ate"},
        {"alism", "al"}, {"iveness", "ive"}, {"fulness", "ful"}, {"ousness", "ous"}, {"aliti", "al"}, {"iviti", "ive"}, {"biliti", "ble"},
        {"logi", "log"}}};
    static constexpr std::array<Rule, 7> step3{{{"icate", "ic"}, {"ative", ""}, {"alize", "al"}, {"iciti", "ic"}, {"ical", "ic"}, {"ful", ""},
        {"ness", ""}}};
    static constexpr std::array<std::string_view, 16> step4{"al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ou", "ism", "ate",
        "iti", "ous", "ive", "ize"};

    bool nltk_, rouge_;
    std::string w_;

    bool ends(std::string_view suffix) const { return std::string_view(w_).ends_with(suffix); }
    std::size_t before(std::string_view suffix) const { return w_.size() - suffix.size(); }

    // y is a vowel after a consonant, and a consonant at the start and after a vowel
    bool consonant(std::size_t i) const {
        switch (w_[i]) {
            case 'a': case 'e': case 'i': case 'o': case 'u': return false;
            case 'y': return i == 0 || !consonant(i - 1);
            default: return true;
        }
    }
    // the number of times that a consonant follows a vowel, in the first letters
    int measure(std::size_t length) const {
        int count = 0;
        bool vowel = false;
        for (std::size_t i = 0; i < length; ++i) {
            const bool c = consonant(i);
            count += vowel && c;
            vowel = !c;
        }
        return count;
    }
    bool has_vowel(std::size_t length) const {
        for (std::size_t i = 0; i < length; ++i)
            if (!consonant(i)) return true;
        return false;
    }
    // consonant, vowel, consonant other than w, x, y
    bool short_end(std::size_t length) const {
        if (nltk_ && length == 2) return !consonant(0) && consonant(1);
        if (length < 3 || !consonant(length - 3) || consonant(length - 2) || !consonant(length - 1)) return false;
        const char last = w_[length - 1];
        return last != 'w' && last != 'x' && last != 'y';
    }
    void replace(std::size_t stem, std::string_view ending) {
        w_.resize(stem);
        w_ += ending;
    }

    void plural() {  // step 1a
        if (nltk_ && ends("ies") && w_.size() == 4) {
            w_.pop_back();
            return;
        }
        if (ends("sses") || ends("ies"))
            w_.resize(w_.size() - 2);
        else if (ends("s") && !ends("ss"))
            w_.pop_back();
    }
    void past_or_progressive() {  // step 1b
        if (nltk_ && ends("ied")) {
            w_.resize(w_.size() - (w_.size() == 4 ? 1 : 2));
            return;
        }
        if (ends("eed")) {
            if (measure(before("eed")) > 0) w_.pop_back();
            return;
        }
        const std::string_view suffix = ends("ed") ? "ed" : ends("ing") ? "ing" : "";
        if (suffix.empty() || !has_vowel(before(suffix))) return;
        w_.resize(before(suffix));
        const std::size_t n = w_.size();
        if (ends("at") || ends("bl") || ends("iz"))
            w_ += 'e';
        else if (n >= 2 && w_[n - 1] == w_[n - 2] && consonant(n - 1)) {
            const char last = w_[n - 1];
            if (last != 'l' && last != 's' && last != 'z') w_.pop_back();
        } else if (measure(n) == 1 && short_end(n))
            w_ += 'e';
    }
    void final_y() {  // step 1c
        if (!ends("y")) return;
        const std::size_t stem = before("y");
        if (nltk_ ? stem > 1 && consonant(stem - 1) : has_vowel(stem)) w_.back() = 'i';
    }
    void double_suffix() {  // step 2
        if (nltk_ && ends("alli") && measure(before("alli")) > 0) replace(before("alli"), "al");
        if (nltk_ && ends("fulli")) {
            if (measure(before("fulli")) > 0) replace(before("fulli"), "ful");
            return;
        }
        if (nltk_ && ends("logi")) {  // the l counts as part of the stem
            if (measure(before("ogi")) > 0) w_.pop_back();
            return;
        }
        apply_longest(step2);
    }
    void derived_adjective() { apply_longest(step3); }  // step 3

    template <std::size_t N>
    void apply_longest(const std::array<Rule, N>& rules) {
        const Rule* best = nullptr;
        for (const Rule& rule : rules)
            if (ends(rule.first) && (!best || rule.first.size() > best->first.size())) best = &rule;
        if (best && measure(before(best->first)) > 0) replace(before(best->first), best->second);
    }
    std::string_view longest_of_step4() const {
        std::string_view best;
        for (const std::string_view suffix : step4)
            if (ends(suffix) && suffix.size() > best.size()) best = suffix;
        return best;
    }
    void strip(std::string_view suffix) {
        if (measure(before(suffix)) > 1) w_.resize(before(suffix));
    }
    bool strip_ion() {
        if (!ends("sion") && !ends("tion")) return false;
        strip("ion");
        return true;
    }
    void long_suffix() {  // step 4
        const std::string_view best = longest_of_step4();
        if (best == "ement") return strip(best);
        if (ends("ment")) return strip("ment");
        if (ends("ent")) return strip("ent");
        if (!best.empty()) return strip(best);
        strip_ion();
    }
    void long_suffix_of_rouge() {  // step 4
        if (const std::string_view best = longest_of_step4(); !best.empty()) strip(best);
        if (ends("ment")) strip("ment");
        if (ends("ent"))
            strip("ent");
        else
            strip_ion();
    }
    void final_e() {  // step 5a
        if (!ends("e")) return;
        const std::size_t stem = before("e");
        const int m = measure(stem);
        if (m > 1 || (m == 1 && !short_end(stem))) w_.pop_back();
    }
};

}  // namespace cranfield
