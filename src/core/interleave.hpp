// Interleaving: one list for users from the lists of several systems, and what a click on each place is worth to each system.
//
// A list depends only on the rankings and its seed, so a record that holds the seed can be replayed.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

#include "resample.hpp"

namespace cranfield {

constexpr std::int32_t kNobody = -1;         // the team of a place whose clicks count for nobody
constexpr std::size_t kMostInRounds = 12;    // systems for which assignments in rounds are summed over

enum class Mixing { balanced, team_draft, probabilistic, rounds, pairwise };

struct MixingOptions {
    Mixing method = Mixing::team_draft;
    std::size_t length = 10;
    double tau = 3.0;          // probabilistic: a document at rank r is drawn in proportion to 1 / r^tau
    bool skip_shared = false;  // team draft: documents that all lists begin with count for nobody
};

inline double uniform(Random& random) { return static_cast<double>(random.bits() >> 11) * 0x1p-53; }

// The rankings of one query, as numbers of documents.
class Rankings {
public:
    // `documents` is the number of all documents that any query has.
    Rankings(std::size_t systems, std::size_t documents) : lists_(systems), rank_(systems * documents, 0), documents_(documents) {}

    void set(std::size_t system, std::span<const std::int32_t> list) {
        for (const std::int32_t doc : lists_[system]) rank_[system * documents_ + static_cast<std::size_t>(doc)] = 0;
        lists_[system] = list;
        for (std::size_t i = 0; i < list.size(); ++i) {
            if (list[i] < 0 || static_cast<std::size_t>(list[i]) >= documents_) throw std::out_of_range("a document has a number that is too large");
            std::int32_t& rank = rank_[system * documents_ + static_cast<std::size_t>(list[i])];
            if (rank != 0) {
                lists_[system] = list.first(i);
                throw std::invalid_argument("a document appears twice in a list");
            }
            rank = static_cast<std::int32_t>(i + 1);
        }
    }

    std::size_t systems() const { return lists_.size(); }
    std::size_t documents() const { return documents_; }
    std::span<const std::int32_t> list(std::size_t system) const { return lists_[system]; }
    // 1 for the first document; 0 if the system did not return it.
    std::int32_t rank(std::size_t system, std::int32_t doc) const { return rank_[system * documents_ + static_cast<std::size_t>(doc)]; }

private:
    std::vector<std::span<const std::int32_t>> lists_;
    std::vector<std::int32_t> rank_;
    std::size_t documents_;
};

struct Mixed {
    std::vector<std::int32_t> document;
    std::vector<std::int32_t> team;   // the system that a place counts for, or kNobody
    std::vector<double> worth;        // place by place, for each system: what a click there adds
    std::vector<double> choices;      // pairwise: the number of documents that could have been drawn at each place

    void clear() {
        document.clear();
        team.clear();
        worth.clear();
        choices.clear();
    }
};

// Makes the list of one query after the other; keeps its memory between them.
class Mixer {
public:
    explicit Mixer(const MixingOptions& options) : options_(options) {}

    void mix(const Rankings& rankings, std::uint64_t seed, Mixed& out) {
        out.clear();
        rankings_ = &rankings;
        out_ = &out;
        taken_.assign(rankings.documents(), 0);
        next_.assign(rankings.systems(), 0);
        Random random(seed, 0);
        switch (options_.method) {
            case Mixing::balanced: balanced(random); break;
            case Mixing::team_draft: team_draft(random); break;
            case Mixing::probabilistic: probabilistic(random); break;
            case Mixing::rounds: probabilistic_in_rounds(random); break;
            case Mixing::pairwise: pairwise(random); break;
        }
    }

private:
    bool full() const { return out_->document.size() >= options_.length; }
    std::size_t systems() const { return rankings_->systems(); }

    // Appends a document with no worth yet.
    void append(std::int32_t doc, std::int32_t team) {
        taken_[static_cast<std::size_t>(doc)] = 1;
        out_->document.push_back(doc);
        out_->team.push_back(team);
        out_->worth.insert(out_->worth.end(), systems(), 0.0);
    }

    void append_for(std::int32_t doc, std::size_t system) {
        append(doc, static_cast<std::int32_t>(system));
        out_->worth[out_->worth.size() - systems() + system] = 1.0;
    }

    // The best document of a system that is not taken yet; false if there is none.
    bool best(std::size_t system, std::int32_t& doc) {
        const auto list = rankings_->list(system);
        std::size_t& next = next_[system];
        while (next < list.size() && taken_[static_cast<std::size_t>(list[next])]) ++next;
        if (next == list.size()) return false;
        doc = list[next];
        return true;
    }

    // The number of documents of a system that are not taken, but at most `most`.
    std::size_t left(std::size_t system, std::size_t most) {
        std::int32_t doc;
        if (!best(system, doc)) return 0;
        const auto list = rankings_->list(system);
        std::size_t count = 0;
        for (std::size_t i = next_[system]; i < list.size() && count < most; ++i) count += !taken_[static_cast<std::size_t>(list[i])];
        return count;
    }

    // Fills the page when a list has ended: the systems take turns, and clicks count for nobody.
    void fill() {
        bool any = true;
        while (!full() && any) {
            any = false;
            for (std::size_t system = 0; system < systems() && !full(); ++system) {
                std::int32_t doc;
                if (!best(system, doc)) continue;
                append(doc, kNobody);
                any = true;
            }
        }
    }

    // Ferro & Maistro 2024, Algorithm 1, where a pointer also moves on if its document is already in the list.
    void balanced(Random& random) {
        const bool first = random.bits() >> 63;
        const auto a = rankings_->list(0), b = rankings_->list(1);
        std::size_t at = 0, bt = 0;
        while (!full() && at < a.size() && bt < b.size()) {
            const bool from_a = at < bt || (at == bt && first);
            const std::int32_t doc = from_a ? a[at++] : b[bt++];
            if (!taken_[static_cast<std::size_t>(doc)]) append(doc, from_a ? 0 : 1);
        }
        fill();
    }

    void shuffle(Random& random) {
        order_.resize(systems());
        for (std::size_t i = 0; i < order_.size(); ++i) order_[i] = i;
        for (std::size_t i = order_.size(); i > 1; --i) std::swap(order_[i - 1], order_[random.below(static_cast<std::uint32_t>(i))]);
    }

    // The places of the next round whose clicks count: those at which no order of the systems could leave the one whose
    // turn it is without a document. There each system is equally likely to choose; beyond, clicks at random would favour
    // the longer lists. `anything`: a system may choose any of its documents, not only the best that is left.
    std::size_t fair_places(bool anything) {
        const std::size_t places = std::min(systems(), options_.length - out_->document.size());
        std::size_t fair = places;
        for (std::size_t system = 0; system < systems(); ++system) {
            const std::size_t have = left(system, places);
            if (have < fair && exhaustible(system, have, anything)) fair = have;
        }
        return fair;
    }

    // Could the other systems take all `have` documents that are left of `system`, one each? If not, it never ends.
    bool exhaustible(std::size_t system, std::size_t have, bool anything) {
        std::size_t rivals = 0;
        reached_.assign(rankings_->list(system).size(), 0);
        for (std::size_t other = 0; other < systems(); ++other) rivals += other != system && reach(other, system, anything);
        if (rivals < have) return false;
        const auto list = rankings_->list(system);
        for (std::size_t i = next_[system]; i < list.size(); ++i)
            if (!taken_[static_cast<std::size_t>(list[i])] && !reached_[i]) return false;
        return true;
    }

    // Marks the documents of `system` that `other` may choose in a round; false if there are none. The first document that
    // no other list has ends the search: nobody else takes it, so `other` never chooses one below.
    bool reach(std::size_t other, std::size_t system, bool anything) {
        const auto list = rankings_->list(other);
        bool any = false;
        for (std::size_t i = next_[other]; i < list.size(); ++i) {
            if (taken_[static_cast<std::size_t>(list[i])]) continue;
            if (const std::int32_t rank = rankings_->rank(system, list[i]); rank != 0) {
                reached_[static_cast<std::size_t>(rank - 1)] = 1;
                any = true;
            } else if (!anything && only_in(other, list[i])) {
                break;
            }
        }
        return any;
    }

    bool only_in(std::size_t system, std::int32_t doc) const {
        for (std::size_t other = 0; other < systems(); ++other)
            if (other != system && rankings_->rank(other, doc) != 0) return false;
        return true;
    }

    void copy_shared() {
        for (std::size_t i = 0; !full(); ++i) {
            for (std::size_t system = 0; system < systems(); ++system)
                if (i >= rankings_->list(system).size() || rankings_->list(system)[i] != rankings_->list(0)[i]) return;
            append(rankings_->list(0)[i], kNobody);
        }
    }

    // Systems whose list has ended are skipped.
    void team_draft(Random& random) {
        if (options_.skip_shared) copy_shared();
        for (bool any = true; any && !full();) {
            const std::size_t counting = out_->document.size() + fair_places(false);
            any = false;
            shuffle(random);
            for (const std::size_t system : order_) {
                std::int32_t doc;
                if (full() || !best(system, doc)) continue;
                if (out_->document.size() < counting) append_for(doc, system);
                else append(doc, kNobody);
                any = true;
            }
        }
    }

    // Sums 1 / r^tau over the documents of each system that are not taken.
    void weigh() {
        std::size_t longest = 0;
        for (std::size_t system = 0; system < systems(); ++system) longest = std::max(longest, rankings_->list(system).size());
        for (std::size_t r = power_.size(); r <= longest; ++r) power_.push_back(r == 0 ? 0.0 : std::pow(static_cast<double>(r), -options_.tau));
    }

    double total(std::size_t system) const {
        const auto list = rankings_->list(system);
        double sum = 0.0;
        for (std::size_t i = list.size(); i-- > 0;)
            if (!taken_[static_cast<std::size_t>(list[i])]) sum += power_[i + 1];
        return sum;
    }

    // Draws a document of a system, in proportion to 1 / r^tau.
    std::int32_t draw(std::size_t system, double total, Random& random) {
        const auto list = rankings_->list(system);
        double rest = uniform(random) * total;
        std::int32_t last = -1;
        for (std::size_t i = next_[system]; i < list.size(); ++i) {
            if (taken_[static_cast<std::size_t>(list[i])]) continue;
            last = list[i];
            rest -= power_[i + 1];
            if (rest < 0.0) break;
        }
        return last;
    }

    double chance(std::size_t system, std::int32_t doc, double total) const {
        const std::int32_t rank = rankings_->rank(system, doc);
        return rank == 0 ? 0.0 : power_[static_cast<std::size_t>(rank)] / total;
    }

    void probabilistic(Random& random) {
        weigh();
        std::vector<double>& totals = chance_;
        totals.resize(systems());
        while (!full()) {
            for (std::size_t system = 0; system < systems(); ++system)
                if (left(system, 1) == 0) return fill_at_random(random);
            for (std::size_t system = 0; system < systems(); ++system) totals[system] = total(system);
            const std::size_t drawn = random.below(static_cast<std::uint32_t>(systems()));
            const std::int32_t doc = draw(drawn, totals[drawn], random);
            append(doc, static_cast<std::int32_t>(drawn));
            double* worth = out_->worth.data() + out_->worth.size() - systems();
            double sum = 0.0;
            for (std::size_t system = 0; system < systems(); ++system) sum += worth[system] = chance(system, doc, totals[system]);
            for (std::size_t system = 0; system < systems(); ++system) worth[system] /= sum;
        }
    }

    // As `fill`, with documents drawn from the systems that have some left.
    void fill_at_random(Random& random) {
        while (!full()) {
            order_.clear();
            for (std::size_t system = 0; system < systems(); ++system)
                if (left(system, 1) != 0) order_.push_back(system);
            if (order_.empty()) return;
            const std::size_t system = order_[random.below(static_cast<std::uint32_t>(order_.size()))];
            append(draw(system, total(system), random), kNobody);
        }
    }

    void probabilistic_in_rounds(Random& random) {
        weigh();
        const std::size_t m = systems();
        for (std::size_t places = 1; places != 0 && !full();) {
            places = fair_places(true);
            shuffle(random);
            chance_.clear();  // place by place of the round, of each system
            const std::size_t begin = out_->document.size();
            for (std::size_t place = 0; place < places; ++place) {
                const std::size_t system = order_[place];
                const double of_system = total(system);
                const std::int32_t doc = draw(system, of_system, random);
                for (std::size_t other = 0; other < m; ++other) {
                    const double of_other = other == system ? of_system : total(other);
                    chance_.push_back(of_other > 0.0 ? chance(other, doc, of_other) : 0.0);
                }
                append(doc, static_cast<std::int32_t>(system));
            }
            assign_round(begin);
        }
        fill_at_random(random);
    }

    // The probability that each system gave each document of a round, over all orders of the systems: `forward` sums over
    // the ways in which the systems of a set gave the first documents, `backward` over those in which the others gave the rest.
    void assign_round(std::size_t begin) {
        const std::size_t m = systems(), places = out_->document.size() - begin, sets = std::size_t{1} << m;
        forward_.assign(sets, 0.0);
        backward_.assign(sets, 0.0);
        forward_[0] = 1.0;
        for (std::size_t set = 0; set < sets; ++set) {
            const auto place = static_cast<std::size_t>(std::popcount(set));
            if (place >= places) continue;
            for (std::size_t system = 0; system < m; ++system)
                if (!(set >> system & 1)) forward_[set | std::size_t{1} << system] += forward_[set] * chance_[place * m + system];
        }
        for (std::size_t set = sets; set-- > 0;) {
            const auto place = static_cast<std::size_t>(std::popcount(set));
            if (place > places) continue;
            if (place == places) {
                backward_[set] = 1.0;
                continue;
            }
            for (std::size_t system = 0; system < m; ++system)
                if (!(set >> system & 1)) backward_[set] += backward_[set | std::size_t{1} << system] * chance_[place * m + system];
        }
        const double all = backward_[0];
        for (std::size_t set = 0; set < sets; ++set) {
            const auto place = static_cast<std::size_t>(std::popcount(set));
            if (place >= places) continue;
            double* worth = out_->worth.data() + (begin + place) * m;
            for (std::size_t system = 0; system < m; ++system)
                if (!(set >> system & 1)) worth[system] += forward_[set] * chance_[place * m + system] * backward_[set | std::size_t{1} << system] / all;
        }
    }

    // At place i, each document that is among the first i of some system, and not in the list yet, is equally likely.
    void pairwise(Random& random) {
        pool_.clear();
        for (std::size_t place = 0; !full(); ++place) {
            for (std::size_t system = 0; system < systems(); ++system) {
                const auto list = rankings_->list(system);
                if (place < list.size() && !taken_[static_cast<std::size_t>(list[place])]) {
                    taken_[static_cast<std::size_t>(list[place])] = 1;  // in the pool, or in the list
                    pool_.push_back(list[place]);
                }
            }
            if (pool_.empty()) return;
            const std::size_t drawn = random.below(static_cast<std::uint32_t>(pool_.size()));
            out_->choices.push_back(static_cast<double>(pool_.size()));
            append(pool_[drawn], kNobody);
            pool_.erase(pool_.begin() + static_cast<std::ptrdiff_t>(drawn));
        }
    }

    MixingOptions options_;
    const Rankings* rankings_ = nullptr;
    Mixed* out_ = nullptr;
    std::vector<char> taken_;
    std::vector<std::size_t> next_;   // of each system, where its first document that is not taken may be
    std::vector<std::size_t> order_;  // of the systems in a round
    std::vector<char> reached_;       // of the documents of a list, whether other systems may choose it in this round
    std::vector<double> power_;       // 1 / r^tau
    std::vector<double> chance_;
    std::vector<double> forward_, backward_;
    std::vector<std::int32_t> pool_;
};

}  // namespace cranfield
