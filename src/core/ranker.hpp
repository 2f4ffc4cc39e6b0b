// Ranks a list and finds its judged documents: the one join that every measure builds on.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ids.hpp"
#include "memory.hpp"
#include "reader.hpp"

namespace cranfield {

enum class OnDuplicate { error, first, max };

// A hash table from ids to small numbers, with open addressing. It stores no ids: the caller compares them.
class IdTable {
public:
    void reset(std::size_t ids) {
        constexpr std::size_t kInCache = 4096;  // of so few ids, one slot in four is used at the most: fewer are tried in vain
        std::size_t slots = 16;
        while (slots < ids * (ids <= kInCache ? 4 : 2)) slots *= 2;
        mask_ = slots - 1;
        slots_.assign(slots, Slot{0, kEmpty});
    }

    // The number of an id that `same` recognises. If there is none, stores `number` (unless it is negative) and returns -1.
    template <typename Same>
    std::int32_t find_or_add(std::uint64_t hash, std::int32_t number, const Same& same) {
        const auto tag = static_cast<std::uint32_t>(hash >> 32);
        for (std::size_t at = hash & mask_;; at = (at + 1) & mask_) {
            Slot& slot = slots_[at];
            if (slot.number == kEmpty) {
                if (number >= 0) slot = {tag, number};
                return -1;
            }
            if (slot.tag == tag && same(slot.number)) return slot.number;
        }
    }

private:
    static constexpr std::int32_t kEmpty = -1;
    struct Slot {
        std::uint32_t tag;
        std::int32_t number;
    };
    std::vector<Slot> slots_;
    std::size_t mask_ = 0;
};

// A hash table of numbers from 0 on, in six bytes for each: with open addressing, and three slots for two numbers. The lower bits
// of a slot hold the number + 1, the others as much of the hash as there is room for. It stores no ids: the caller compares them.
class PackedNumbers {
public:
    // For numbers below `numbers`, in `slots_for` slots that are 0 at first.
    PackedNumbers(std::uint32_t* slots, std::size_t numbers)
        : slots_(slots), size_(slots_for(numbers)), low_bits_(static_cast<std::uint32_t>((std::uint64_t{1} << std::bit_width(numbers)) - 1)) {}

    static std::size_t slots_for(std::size_t numbers) { return numbers + numbers / 2 + 2; }

    // The number that `same` recognises. If there is none, stores `number` (unless it is negative) and returns -1.
    template <typename Same>
    std::int32_t find_or_add(std::uint64_t hash, std::int32_t number, const Same& same) {
        const std::uint32_t part = part_of(hash);
        std::size_t at = static_cast<std::size_t>(((hash & 0xffff'ffffU) * size_) >> 32);
        for (std::uint32_t slot = slots_[at]; slot != 0; slot = slots_[at]) {
            if ((slot & ~low_bits_) == part && same(number_in(slot))) return number_in(slot);
            if (++at == size_) at = 0;
        }
        if (number >= 0) slots_[at] = part | (static_cast<std::uint32_t>(number) + 1);
        return -1;
    }

    // The number that `same` recognises, or -1.
    template <typename Same>
    std::int32_t number(std::uint64_t hash, const Same& same) {
        constexpr std::size_t kFew = 8;
        if (size_ > kFew) return find_or_add(hash, -1, same);
        // Whether the first slot is free is hard to predict; that no slot has this part of the hash is not
        const std::uint32_t part = part_of(hash);
        for (std::size_t at = 0; at < size_; ++at)
            if ((slots_[at] & ~low_bits_) == part && slots_[at] != 0 && same(number_in(slots_[at]))) return number_in(slots_[at]);
        return -1;
    }

private:
    std::uint32_t part_of(std::uint64_t hash) const { return static_cast<std::uint32_t>(hash >> 32) & ~low_bits_; }
    std::int32_t number_in(std::uint32_t slot) const { return static_cast<std::int32_t>(slot & low_bits_) - 1; }

    std::uint32_t* slots_;
    std::size_t size_;
    std::uint32_t low_bits_;
};

// A hash table of the judged documents of every topic. Documents are numbered in the order in which they are added.
class JudgedIndex {
public:
    explicit JudgedIndex(const char* base) : base_(base) {}

    // Begins a topic of at most so many documents.
    void begin_topic(std::string_view topic, std::size_t documents) {
        if (documents > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max() - documents_))
            throw std::length_error("more than 2,147,483,647 judged documents");
        topic_number_.emplace(std::string(topic), static_cast<std::int32_t>(topics_.size()));
        topics_.push_back({slots_.size(), static_cast<std::int32_t>(documents), documents_});
        slots_.resize(slots_.size() + PackedNumbers::slots_for(documents), 0);
    }
    // Adds a document to the last topic, unless it is there: then returns its number, else -1.
    std::int32_t add(Id document) {
        const Topic& topic = topics_.back();
        const std::string_view id = document.in(base_);
        const std::int32_t found = numbers_of(topic).find_or_add(hash_id(id), documents_ - topic.first, HasId{*this, topic.first, id});
        if (found >= 0) return topic.first + found;
        ++documents_;
        if (in_table_) return -1;
        own_ids_.push_back(document);
        ids_ = own_ids_.data();
        return -1;
    }
    std::size_t documents() const { return static_cast<std::size_t>(documents_); }

    // The ids of all documents stand one after the other in a table, which must live as long as the index.
    void use_table(const Id* ids) {
        in_table_ = true;
        ids_ = ids;
    }
    // From now on, the index has ids of its own.
    void leave_table() {
        if (!std::exchange(in_table_, false)) return;
        own_ids_.assign(ids_, ids_ + documents_);
        ids_ = own_ids_.data();
    }

    // Makes room for so many ids of its own.
    void own_ids(std::size_t documents) { own_ids_.reserve(documents); }

    // Makes room for so many documents of so many topics.
    void reserve(std::size_t documents, std::size_t topics) {
        topics_.reserve(topics);
        slots_.reserve(documents + documents / 2 + 2 * topics);  // reserved memory costs nothing until it is written
    }

    std::size_t topics() const { return topics_.size(); }

    std::int32_t topic(std::string_view name) const {
        const auto found = topic_number_.find(std::string(name));
        return found == topic_number_.end() ? -1 : found->second;
    }

    // The documents of one topic, to look up many.
    class OfTopic {
    public:
        OfTopic(const JudgedIndex& index, std::int32_t topic)
            : index_(index), first_(index.topics_[static_cast<std::size_t>(topic)].first),
              numbers_(index.numbers_of(index.topics_[static_cast<std::size_t>(topic)])) {}

        // The number of a document; -1 if it is not judged.
        std::int32_t number(std::string_view doc, std::uint64_t hash) {
            const std::int32_t found = numbers_.number(hash, HasId{index_, first_, doc});
            return found < 0 ? -1 : first_ + found;
        }

    private:
        const JudgedIndex& index_;
        std::int32_t first_;
        PackedNumbers numbers_;
    };

    // The number of a document of the topic; -1 if it is not judged.
    std::int32_t number(std::int32_t topic, std::string_view doc, std::uint64_t hash) const {
        return OfTopic(*this, topic).number(doc, hash);
    }

private:
    struct Topic {
        std::size_t begin;              // of its slots
        std::int32_t documents, first;  // at most so many; the number of the first
    };
    PackedNumbers numbers_of(const Topic& topic) const {
        return {const_cast<std::uint32_t*>(slots_.data()) + topic.begin, static_cast<std::size_t>(topic.documents)};
    }
    // Whether a document of a topic, the first of which has the number `first`, is the one with this id.
    struct HasId {
        const JudgedIndex& index;
        std::int32_t first;
        std::string_view id;
        bool operator()(std::int32_t number) const {
            return same_text(index.ids_[static_cast<std::size_t>(first + number)].in(index.base_), id);
        }
    };

    const char* base_;
    std::int32_t documents_ = 0;
    std::unordered_map<std::string, std::int32_t> topic_number_;
    std::vector<Topic> topics_;
    bool in_table_ = false;
    const Id* ids_ = nullptr;  // of each document: in a table, or its own
    LongColumn<Id> own_ids_;
    LongColumn<std::uint32_t> slots_;  // of all topics, one after the other
};

struct JoinOptions {
    Order order = Order::score;
    Ties ties = Ties::z_to_a;  // in the order `score`; equal ranks stay in file order
    bool single_precision = false;
    OnDuplicate on_duplicate = OnDuplicate::error;
    std::size_t depth = 0;  // 0: no limit
    bool unique = false;    // the caller knows that no list contains a document twice
    const JudgedIndex* documents = nullptr;  // numbers all retrieved documents, under its topic 0; null: not wanted
    bool scores = false;                     // keep the numbers that documents are ranked by
};

struct Hit {
    std::int32_t rank, tie_first, tie_last;
    std::int32_t document;  // its number among the judged documents
};

// A document that a list contains twice: the places of both lines.
struct Duplicate {
    Id first, again;
};

// Ranks one list at a time, reusing its memory.
class Ranker {
public:
    explicit Ranker(const JoinOptions& options) : options_(options) {
        options_.single_precision &= options_.order == Order::score;  // a rank is never rounded
    }

    void set_unique(bool unique) { options_.unique = unique; }

    struct Document {
        double key;
        Id doc;
        std::int32_t number = -1;  // among the judged documents; -1: unjudged
    };

    std::vector<Document> documents;  // filled by the caller, in file order
    std::vector<Hit> hits;
    std::vector<std::int32_t> numbers;  // of every retrieved document in rank order, -1 if it has none
    std::vector<Id> unknown;            // the documents without a number
    std::vector<double> scores;         // of every retrieved document in rank order, if the options ask for them
    std::size_t retrieved = 0;
    std::size_t dropped = 0;  // duplicates
    bool has_duplicate = false;
    Duplicate duplicate{};
    bool rises = false, falls = false;  // some score is higher, or lower, than that of the document before it in the file

    // Looks up every document, sorts the list and collects its hits.
    void run(const char* base, const JudgedIndex& judged, std::int32_t topic) {
        look_up(base, &judged, topic);
        if (has_duplicate) return;
        retrieved = options_.depth ? std::min(options_.depth, documents.size()) : documents.size();
        hits.clear();
        if (in_order()) {
            collect();
        } else if (few_hits()) {
            count(base);
        } else {
            sort(base);
            collect();
        }
        if (options_.documents) number(base);
        scores.clear();
        if (options_.scores)
            for (std::size_t i = 0; i < retrieved; ++i) scores.push_back(documents[i].key);
    }

    // Sorts the list and drops or reports duplicates, without judgments.
    void rank_only(const char* base) {
        look_up(base, nullptr, 0);
        if (!has_duplicate && !in_order()) sort(base);
    }

private:
    void look_up(const char* base, const JudgedIndex* judged, std::int32_t topic) {
        has_duplicate = false;
        dropped = 0;
        std::optional<JudgedIndex::OfTopic> of_topic;
        if (judged) of_topic.emplace(*judged, topic);
        if (options_.unique) {
            for (Document& document : documents) {
                const std::string_view id = document.doc.in(base);
                if (options_.single_precision) document.key = static_cast<double>(static_cast<float>(document.key));
                document.number = of_topic ? of_topic->number(id, hash_id(id)) : -1;
            }
            return;
        }
        seen_.reset(documents.size());
        std::size_t kept = 0;
        for (std::size_t i = 0; i < documents.size(); ++i) {
            Document document = documents[i];
            if (options_.single_precision) document.key = static_cast<double>(static_cast<float>(document.key));
            const std::string_view id = document.doc.in(base);
            const std::uint64_t hash = hash_id(id);
            const std::int32_t earlier = seen_.find_or_add(
                hash, static_cast<std::int32_t>(kept),
                [&](std::int32_t other) { return same_text(documents[static_cast<std::size_t>(other)].doc.in(base), id); });
            if (earlier >= 0) {
                Document& first = documents[static_cast<std::size_t>(earlier)];
                if (options_.on_duplicate == OnDuplicate::error) {
                    has_duplicate = true;
                    duplicate = {first.doc, document.doc};
                    return;
                }
                if (options_.on_duplicate == OnDuplicate::max) first.key = std::max(first.key, document.key);
                ++dropped;
                continue;
            }
            document.number = of_topic ? of_topic->number(id, hash) : -1;
            documents[kept++] = document;
        }
        documents.resize(kept);
    }

    // Whether the list needs no sorting.
    bool in_order() {
        tied_ = rises = falls = false;
        if (options_.order == Order::file) return true;
        bool sorted = true;
        for (std::size_t i = 1; i < documents.size(); ++i) {
            if (documents[i - 1].key > documents[i].key) {
                falls = true;
            } else {
                tied_ |= documents[i - 1].key == documents[i].key;
                rises |= documents[i - 1].key < documents[i].key;
                sorted = false;
            }
        }
        return sorted;
    }

    // Whether it is faster to count the documents above each hit than to sort the list. Nobody may ask for the other documents.
    bool few_hits() {
        if (options_.order != Order::score || options_.documents || options_.scores) return false;
        hits_at_.clear();
        for (std::size_t i = 0; i < documents.size(); ++i)
            if (documents[i].number >= 0) hits_at_.push_back(i);
        constexpr std::size_t kHitsPerStepOfSorting = 4;  // sorting takes about log2(n) steps
        return hits_at_.size() <= kHitsPerStepOfSorting * static_cast<std::size_t>(std::bit_width(documents.size()));
    }

    // Finds the hits of a list that is not sorted: the rank of a document is 1 + the number of documents above it.
    void count(const char* base) {
        keys_.clear();
        for (const Document& document : documents) keys_.push_back(document.key);
        for (const std::size_t at : hits_at_) {
            const double key = keys_[at];
            std::int64_t above = 0, level = 0;
            for (const double other : keys_) {
                above += other > key;
                level += other == key;
            }
            const auto first = static_cast<std::size_t>(above + 1), last = static_cast<std::size_t>(above + level);
            std::size_t rank = first;
            if (level > 1)
                for (std::size_t i = 0; i < keys_.size(); ++i) rank += keys_[i] == key && is_before(base, i, at);
            if (rank <= retrieved)
                hits.push_back({static_cast<std::int32_t>(rank), static_cast<std::int32_t>(first),
                                static_cast<std::int32_t>(std::min(last, retrieved)), documents[at].number});
        }
        std::sort(hits.begin(), hits.end(), [](const Hit& a, const Hit& b) { return a.rank < b.rank; });
    }

    // Whether the document at one place of the file comes before another with the same score.
    bool is_before(const char* base, std::size_t i, std::size_t at) const {
        if (options_.ties == Ties::file) return i < at;
        const std::string_view id = documents[i].doc.in(base), other = documents[at].doc.in(base);
        return options_.ties == Ties::a_to_z ? id < other : id > other;
    }

    void sort(const char* base) {
        tied_ = options_.order != Order::rank;
        const auto is_higher = [](const Document& a, const Document& b) { return a.key > b.key; };
        if (options_.order == Order::rank || options_.ties == Ties::file) {
            std::stable_sort(documents.begin(), documents.end(), is_higher);
            return;
        }
        std::sort(documents.begin(), documents.end(), is_higher);
        for (std::size_t begin = 0, end = 0; begin < documents.size(); begin = end) {
            for (end = begin + 1; end < documents.size() && documents[end].key == documents[begin].key;) ++end;
            if (end - begin > 1) order_by_id(base, begin, end);
        }
    }

    // Sorts tied documents by id. The ids are copied: those in a mapped file may change while
    // they are sorted, and std::sort would leave its bounds.
    void order_by_id(const char* base, std::size_t begin, std::size_t end) {
        copied_.clear();
        tied_documents_.clear();
        for (std::size_t i = begin; i < end; ++i) {
            const std::string_view id = documents[i].doc.in(base);
            tied_documents_.push_back({Id::make(copied_.size(), id.size()), documents[i]});
            copied_.append(id);
        }
        std::sort(tied_documents_.begin(), tied_documents_.end(), [copies = copied_.data()](const auto& a, const auto& b) {
            return a.copy.in(copies) > b.copy.in(copies);
        });
        if (options_.ties == Ties::a_to_z) std::reverse(tied_documents_.begin(), tied_documents_.end());  // no id appears twice
        for (std::size_t i = begin; i < end; ++i) documents[i] = tied_documents_[i - begin].document;
    }

    void collect() {
        for (std::size_t i = 0; i < retrieved;) {
            std::size_t end = i + 1;
            if (tied_)
                while (end < retrieved && documents[end].key == documents[i].key) ++end;
            for (std::size_t j = i; j < end; ++j)
                if (documents[j].number >= 0)
                    hits.push_back({static_cast<std::int32_t>(j + 1), static_cast<std::int32_t>(i + 1),
                                    static_cast<std::int32_t>(end), documents[j].number});
            i = end;
        }
    }

    void number(const char* base) {
        numbers.clear();
        unknown.clear();
        for (std::size_t i = 0; i < retrieved; ++i) {
            const std::string_view id = documents[i].doc.in(base);
            numbers.push_back(options_.documents->number(0, id, hash_id(id)));
            if (numbers.back() < 0) unknown.push_back(documents[i].doc);
        }
    }

    JoinOptions options_;
    struct TiedDocument {
        Id copy;  // in copied_
        Document document;
    };

    IdTable seen_;
    bool tied_ = false;
    std::vector<std::size_t> hits_at_;  // the places of the judged documents
    std::vector<double> keys_;
    std::string copied_;
    std::vector<TiedDocument> tied_documents_;
};

}  // namespace cranfield
