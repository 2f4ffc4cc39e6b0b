// Interleaving: the list of one query from lists of documents, and the lists of many queries from arrays.
#include <string>
#include <tuple>
#include <vector>

#include "bindings/bind.hpp"
#include "bindings/convert.hpp"
#include "bindings/unlock.hpp"
#include "interleave.hpp"

namespace cranfield {
namespace {

constexpr std::size_t kBlock = 1024;  // lists that a thread makes at a time

MixingOptions make_mixing(const std::string& method, std::size_t systems, std::size_t length, double tau, bool skip_shared) {
    MixingOptions options;
    options.length = length;
    options.tau = tau;
    options.skip_shared = skip_shared;
    if (method == "balanced") options.method = Mixing::balanced;
    else if (method == "team-draft") options.method = Mixing::team_draft;
    else if (method == "probabilistic") options.method = Mixing::probabilistic;
    else if (method == "rounds") options.method = Mixing::rounds;
    else if (method == "pairwise") options.method = Mixing::pairwise;
    else throw nb::value_error(("unknown method '" + method + "'").c_str());
    if (systems == 0) throw nb::value_error("no lists to interleave");
    if (options.method == Mixing::balanced && systems != 2) throw nb::value_error("balanced interleaving takes two lists");
    if (options.method == Mixing::rounds && systems > kMostInRounds) throw nb::value_error("too many systems for drawing in rounds");
    if (length == 0) throw nb::value_error("length must be 1 or more");
    if (!(tau >= 0.0 && tau <= 30.0)) throw nb::value_error("tau must be between 0 and 30");
    return options;
}

// Numbers the documents of Python lists by first appearance.
class Numbered {
public:
    explicit Numbered(const Objects& rankings) : numbers_(nb::steal(PyDict_New())) {
        std::vector<std::size_t> ends;
        for (const nb::handle ranking : rankings) {
            const nb::object items = nb::steal(PySequence_Fast(ranking.ptr(), "a ranking must be a list of documents"));
            if (!items.is_valid()) throw nb::python_error();
            PyObject** const begin = PySequence_Fast_ITEMS(items.ptr());
            for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.ptr()); ++i) {
                const std::size_t number = of(begin[i]);
                last_.resize(documents.size(), 0);
                if (last_[number] == ends.size() + 1) repeated(begin[i], ends.size());
                last_[number] = ends.size() + 1;
                flat_.push_back(static_cast<std::int32_t>(number));
            }
            ends.push_back(flat_.size());
        }
        std::size_t begin = 0;
        for (const std::size_t end : ends) {
            lists.push_back({flat_.data() + begin, end - begin});
            begin = end;
        }
    }

    std::vector<nb::object> documents;
    std::vector<std::span<const std::int32_t>> lists;

private:
    std::size_t of(PyObject* document) {
        const nb::object fresh = nb::steal(PyLong_FromSize_t(documents.size()));
        PyObject* const number = PyDict_SetDefault(numbers_.ptr(), document, fresh.ptr());
        if (number == nullptr) throw nb::python_error();
        if (static_cast<std::size_t>(PyDict_GET_SIZE(numbers_.ptr())) > documents.size()) documents.push_back(nb::borrow(document));
        return PyLong_AsSize_t(number);
    }

    [[noreturn]] void repeated(PyObject* document, std::size_t system) {
        const nb::object shown = nb::steal(PyObject_Repr(document));
        Text text;
        const std::string name(shown.is_valid() ? text.of(shown.ptr()) : "?");
        throw nb::value_error(("document " + name.substr(0, 80) + " appears twice in list " + std::to_string(system + 1)).c_str());
    }

    nb::object numbers_;
    std::vector<std::int32_t> flat_;
    std::vector<std::size_t> last_;  // of each document, the number of the last list that has it, from 1 on
};

nb::list whole_numbers(const std::vector<std::int32_t>& values) {
    nb::list out;
    for (const std::int32_t value : values) out.append(nb::steal(PyLong_FromLong(value)));
    return out;
}

nb::list numbers(const std::vector<double>& values) {
    nb::list out;
    for (const double value : values) out.append(nb::steal(PyFloat_FromDouble(value)));
    return out;
}

using OneList = std::tuple<nb::typed<nb::list, nb::str>, nb::typed<nb::list, int>, nb::typed<nb::list, float>, nb::typed<nb::list, int>,
                           nb::typed<nb::list, float>>;

OneList interleave_list(Objects rankings, const std::string& method, std::size_t length, std::uint64_t seed, double tau, bool skip_shared) {
    const Numbered numbered(rankings);
    const std::size_t systems = numbered.lists.size();
    Mixer mixer(make_mixing(method, systems, length, tau, skip_shared));
    Rankings made(systems, numbered.documents.size());
    for (std::size_t system = 0; system < systems; ++system) made.set(system, numbered.lists[system]);
    Mixed mixed;
    mixer.mix(made, seed, mixed);
    nb::typed<nb::list, nb::str> documents;
    std::vector<std::int32_t> ranks;
    for (const std::int32_t document : mixed.document) {
        documents.append(numbered.documents[static_cast<std::size_t>(document)]);
        for (std::size_t system = 0; system < systems; ++system) ranks.push_back(made.rank(system, document));
    }
    return {documents, nb::borrow<nb::typed<nb::list, int>>(whole_numbers(mixed.team)), nb::borrow<nb::typed<nb::list, float>>(numbers(mixed.worth)),
            nb::borrow<nb::typed<nb::list, int>>(whole_numbers(ranks)), nb::borrow<nb::typed<nb::list, float>>(numbers(mixed.choices))};
}

using ManyLists = std::tuple<Vector1<std::int32_t>, Vector1<std::int32_t>, Vector1<double>, Vector1<std::int32_t>, Vector1<double>>;

ManyLists interleave_lists(Column<std::int32_t> documents, Column<std::int64_t> start, std::size_t systems, Column<std::int64_t> query,
                           Column<std::uint64_t> seed, const std::string& method, std::size_t length, double tau, bool skip_shared,
                           unsigned threads) {
    const MixingOptions options = make_mixing(method, systems, length, tau, skip_shared);
    const auto flat = span_of(documents);
    const auto starts = span_of(start);
    const auto queries = span_of(query);
    const auto seeds = span_of(seed);
    if (starts.empty() || (starts.size() - 1) % systems != 0) throw nb::value_error("start needs an entry per list, and one more");
    if (queries.size() != seeds.size()) throw nb::value_error("query and seed need one entry per list to make");
    for (std::size_t i = 0; i < starts.size(); ++i)
        if (starts[i] < (i == 0 ? 0 : starts[i - 1]) || starts[i] > static_cast<std::int64_t>(flat.size())) throw nb::value_error("start must rise, up to the number of documents");
    const auto most = static_cast<std::int64_t>((starts.size() - 1) / systems);
    for (const std::int64_t number : queries)
        if (number < 0 || number >= most) throw nb::value_error("query names lists that do not exist");
    std::int32_t largest = -1;
    for (const std::int32_t document : flat) largest = std::max(largest, document);
    const std::size_t count = queries.size(), places = count * length;
    std::vector<std::int32_t> document(places, -1), team(places, kNobody), rank(places * systems, 0);
    std::vector<double> worth(places * systems, 0.0), choices(options.method == Mixing::pairwise ? places : 0, 0.0);
    const Watch watch = make_watch();
    bool finished = false;
    {
        const Unlocked unlocked;
        finished = parallel_for((count + kBlock - 1) / kBlock, threads, watch, [&](std::size_t block, unsigned) {
            Rankings rankings(systems, static_cast<std::size_t>(largest + 1));
            Mixer mixer(options);
            Mixed mixed;
            std::int64_t current = -1;
            for (std::size_t i = block * kBlock; i < std::min(count, (block + 1) * kBlock); ++i) {
                for (std::size_t system = 0; queries[i] != current && system < systems; ++system) {
                    const std::size_t list = static_cast<std::size_t>(queries[i]) * systems + system;
                    rankings.set(system, flat.subspan(static_cast<std::size_t>(starts[list]), static_cast<std::size_t>(starts[list + 1] - starts[list])));
                }
                current = queries[i];
                mixer.mix(rankings, seeds[i], mixed);
                std::copy(mixed.document.begin(), mixed.document.end(), document.begin() + static_cast<std::ptrdiff_t>(i * length));
                std::copy(mixed.team.begin(), mixed.team.end(), team.begin() + static_cast<std::ptrdiff_t>(i * length));
                std::copy(mixed.worth.begin(), mixed.worth.end(), worth.begin() + static_cast<std::ptrdiff_t>(i * length * systems));
                std::copy(mixed.choices.begin(), mixed.choices.end(), choices.begin() + static_cast<std::ptrdiff_t>(choices.empty() ? 0 : i * length));
                for (std::size_t place = 0; place < mixed.document.size(); ++place)
                    for (std::size_t system = 0; system < systems; ++system)
                        rank[(i * length + place) * systems + system] = rankings.rank(system, mixed.document[place]);
            }
        });
    }
    if (!finished) throw nb::python_error();
    return {to_numpy(std::move(document)), to_numpy(std::move(team)), to_numpy(std::move(worth)), to_numpy(std::move(rank)), to_numpy(std::move(choices))};
}

double seeded_uniform(std::uint64_t seed, std::uint64_t stream) {
    Random random(seed, stream);
    return uniform(random);
}

}  // namespace

void bind_interleaving(nb::module_& m) {
    m.def("interleave_list", &interleave_list, "rankings"_a, "method"_a, "length"_a, "seed"_a, "tau"_a, "skip_shared"_a,
          "Interleave lists of documents: documents, teams, worth of clicks, ranks and choices; by place, for each system.");
    m.def("interleave_lists", &interleave_lists, "documents"_a, "start"_a, "systems"_a, "query"_a, "seed"_a, "method"_a, "length"_a,
          "tau"_a, "skip_shared"_a, "threads"_a,
          "Interleave the lists of many queries, whose documents are numbers. All arrays are flat, short lists end in -1.");
    m.def("seeded_uniform", &seeded_uniform, "seed"_a, "stream"_a, "A random number in [0, 1) that depends only on its arguments.");
}

}  // namespace cranfield
