// Texts as words, and what they have in common.
#include <memory>
#include <string>

#include "bindings/bind.hpp"
#include "bindings/convert.hpp"
#include "bindings/unlock.hpp"
#include "overlap.hpp"

namespace cranfield {
namespace {

Stemmer make_stemmer(const std::string& name) {
    if (name == "none") return Stemmer::none;
    if (name == "porter") return Stemmer::porter;
    if (name == "rouge") return Stemmer::rouge;
    if (name == "nltk") return Stemmer::nltk;
    throw nb::value_error("unknown stemmer");
}

Unit make_unit(const std::string& name) {
    if (name == "ngram") return Unit::ngram;
    if (name == "skip-bigram") return Unit::skip_bigram;
    if (name == "skip-bigram and word") return Unit::skip_bigram_and_word;
    if (name == "subsequence") return Unit::subsequence;
    if (name == "subsequence by sentence") return Unit::subsequence_by_sentence;
    if (name == "weighted") return Unit::weighted;
    if (name == "weighted by sentence") return Unit::weighted_by_sentence;
    throw nb::value_error("unknown unit");
}

std::unique_ptr<Words> make_words(const Strings& texts, bool ascii, const std::string& stemmer, const Strings& stop_words,
                                  const nb::typed<nb::dict, nb::str, nb::str>& exceptions) {
    WordRules rules;
    rules.ascii = ascii;
    rules.stemmer = make_stemmer(stemmer);
    Text text;
    for (const nb::handle word : stop_words) rules.stop_words.emplace(text.of(word.ptr()));
    for (const auto& [form, base] : exceptions) rules.exceptions.emplace(std::string(text.of(form.ptr())), std::string(text.of(base.ptr())));
    auto words = std::make_unique<Words>(std::move(rules));
    for (const nb::handle one : texts) {
        Text kept;  // lets go of the bytes of each text before the next
        words->add(kept.of(one.ptr()));
        if (PyErr_CheckSignals() != 0) throw nb::python_error();
    }
    return words;
}

void check_texts(const Words& words, std::span<const std::int64_t> numbers) {
    for (const std::int64_t number : numbers)
        if (number < 0 || static_cast<std::size_t>(number) >= words.size()) throw nb::index_error("no such text");
}

OverlapOptions make_options(const std::string& unit, std::size_t n, std::int64_t skip, bool last_word, bool clip, double weight) {
    OverlapOptions options;
    options.unit = make_unit(unit);
    options.n = n;
    options.skip = skip;
    options.last_word = last_word;
    options.clip = clip;
    options.weight = weight;
    if (n < 1) throw nb::value_error("n must be 1 or more");
    return options;
}

constexpr std::size_t block = 32;  // pairs of texts that a thread takes at a time

template <typename Work>
void for_blocks(std::size_t count, unsigned threads, const Work& work) {
    const Watch watch = make_watch();
    bool finished = false;
    {
        const Unlocked unlocked;
        finished = parallel_for((count + block - 1) / block, threads, watch, [&](std::size_t piece, unsigned thread) {
            work(piece * block, std::min(count, (piece + 1) * block), thread);
        });
    }
    if (!finished) throw nb::python_error();
}

nb::typed<nb::tuple, Vector1<double>, Vector1<double>, Vector1<double>> overlaps(
    const Words& words, Column<std::int64_t> system, Column<std::int64_t> reference, const std::string& unit, std::size_t n, std::int64_t skip,
    bool last_word, bool clip, double weight, unsigned threads) {
    const OverlapOptions options = make_options(unit, n, skip, last_word, clip, weight);
    const auto systems = span_of(system), references = span_of(reference);
    if (systems.size() != references.size()) throw nb::value_error("as many references as systems are needed");
    check_texts(words, systems);
    check_texts(words, references);
    std::vector<double> hits(systems.size()), all(systems.size()), own(systems.size());
    std::vector<std::unique_ptr<TextComparison>> comparisons(std::max(1u, threads));
    for_blocks(systems.size(), threads, [&](std::size_t begin, std::size_t end, unsigned thread) {
        if (!comparisons[thread]) comparisons[thread] = std::make_unique<TextComparison>(words, options);
        for (std::size_t i = begin; i < end; ++i) {
            const Overlap one = comparisons[thread]->of(static_cast<std::size_t>(systems[i]), static_cast<std::size_t>(references[i]));
            hits[i] = one.hits, all[i] = one.reference, own[i] = one.system;
        }
    });
    return nb::make_tuple(to_numpy(std::move(hits)), to_numpy(std::move(all)), to_numpy(std::move(own)));
}

Vector1<std::int8_t> marked_words(const Words& words, std::int64_t system, std::int64_t reference, const std::string& unit, bool clip, double weight) {
    const std::vector<std::int64_t> both{system, reference};
    check_texts(words, both);
    TextComparison comparison(words, make_options(unit, 1, -1, true, clip, weight));
    const std::vector<char> hit = comparison.marked(static_cast<std::size_t>(system), static_cast<std::size_t>(reference));
    return to_numpy(std::vector<std::int8_t>(hit.begin(), hit.end()));
}

nb::typed<nb::tuple, Vector1<std::int64_t>, Vector1<std::int64_t>> clipped_grams(const Words& words, Column<std::int64_t> system,
                                                                                Column<std::int64_t> reference, Column<std::int64_t> start,
                                                                                std::size_t most, unsigned threads) {
    const auto systems = span_of(system), references = span_of(reference), starts = span_of(start);
    check_texts(words, systems);
    check_texts(words, references);
    if (starts.size() != systems.size() + 1 || starts.front() != 0 || starts.back() != static_cast<std::int64_t>(references.size()) ||
        !std::is_sorted(starts.begin(), starts.end()))
        throw nb::value_error("the references of each system must be a slice");
    std::vector<std::int64_t> matched(systems.size() * most), total(systems.size() * most);
    std::vector<ClippedGrams> grams(std::max(1u, threads));
    for_blocks(systems.size(), threads, [&](std::size_t begin, std::size_t end, unsigned thread) {
        std::vector<WordSpan> texts;
        for (std::size_t i = begin; i < end; ++i) {
            texts.clear();
            for (std::int64_t r = starts[i]; r < starts[i + 1]; ++r) texts.push_back(words.text(static_cast<std::size_t>(references[static_cast<std::size_t>(r)])));
            grams[thread].count(words.text(static_cast<std::size_t>(systems[i])), texts, most, matched.data() + i * most, total.data() + i * most);
        }
    });
    return nb::make_tuple(to_numpy(std::move(matched)), to_numpy(std::move(total)));
}

}  // namespace

void bind_words(nb::module_& m) {
    nb::class_<Words>(m, "Words", "Texts as numbered words; lines are sentences.")
        .def("__len__", &Words::size)
        .def("vocabulary", [](const Words& words) { return to_strs(words.vocabulary); }, "The words (or stems) by number.")
        .def_prop_ro("word", [](const Words& w) { return view_of(w.word); }, "The numbers of all words, text after text.")
        .def_prop_ro("sentence_start", [](const Words& w) { return view_of(w.sentence_start); }, "Where each sentence begins in `word`, and where the last ends.")
        .def_prop_ro("text_start", [](const Words& w) { return view_of(w.text_start); },
                     "Where each text begins in `sentence_start`, and where the last ends.");
    m.def("words_of", &make_words, "texts"_a, "ascii"_a, "stemmer"_a, "stop_words"_a, "exceptions"_a,
          "Texts as words: runs of ASCII letters and digits in lower case, or all that is between blanks.");
    m.def("overlaps", &overlaps, "words"_a, "system"_a, "reference"_a, "unit"_a, "n"_a, "skip"_a, "last_word"_a, "clip"_a, "weight"_a, "threads"_a,
          "For each pair of texts: the units that both have, those of the reference, those of the system.");
    m.def("marked_words", &marked_words, "words"_a, "system"_a, "reference"_a, "unit"_a, "clip"_a, "weight"_a,
          "For each word of the reference, 1 if it is in the common subsequence.");
    m.def("clipped_grams", &clipped_grams, "words"_a, "system"_a, "reference"_a, "start"_a, "most"_a, "threads"_a,
          "For each system text and n = 1 to `most`: its n-grams that its references have, clipped; and all its n-grams.");
    m.def("stem_of", [](const std::string& word, const std::string& stemmer) { return PorterStemmer(make_stemmer(stemmer)).stem(word); }, "word"_a,
          "stemmer"_a, "The stem of a lower-case ASCII word.");
}

}  // namespace cranfield
