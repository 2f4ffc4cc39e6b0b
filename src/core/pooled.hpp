// The documents of many runs, numbered topic by topic: what a pool is made from.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "parallel.hpp"
#include "ranker.hpp"
#include "table.hpp"

namespace cranfield {

// The documents of one topic, numbered in the order in which they are added.
class TopicPool {
public:
    TopicPool() { seen_.reset(capacity_); }

    std::int32_t number(std::string_view id) {
        if (ids_.size() >= capacity_) grow();
        const auto fresh = static_cast<std::int32_t>(ids_.size());
        const std::int32_t found = seen_.find_or_add(hash_id(id), fresh, [&](std::int32_t other) { return same_text(this->id(other), id); });
        if (found >= 0) return found;
        ids_.push_back(Id::make(arena_.size(), id.size()));
        arena_.insert(arena_.end(), id.begin(), id.end());
        return fresh;
    }
    std::string_view id(std::int32_t number) const { return ids_[static_cast<std::size_t>(number)].in(arena_.data()); }
    std::size_t size() const { return ids_.size(); }

private:
    void grow() {
        if (capacity_ > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()) / 4)
            throw std::length_error("more documents in a topic than a pool can hold");
        capacity_ *= 2;
        seen_.reset(capacity_);
        for (std::size_t i = 0; i < ids_.size(); ++i)
            seen_.find_or_add(hash_id(id(static_cast<std::int32_t>(i))), static_cast<std::int32_t>(i), [](std::int32_t) { return false; });
    }

    std::size_t capacity_ = 64;
    IdTable seen_;
    std::vector<Id> ids_;
    std::vector<char> arena_;
};

// The first documents of every list, as numbers. Runs are added one after the other, so that only one is in memory.
class PooledDocuments {
public:
    std::vector<std::int32_t> list_run, list_topic;
    std::vector<std::int64_t> list_start{0};
    LongColumn<std::int32_t> document;  // its number within its topic, list by list in rank order
    LongColumn<double> score;           // the number that it is ranked by; empty unless the options ask for scores

    // Adds a run: the first documents of each of its lists, as the options rank and cut them.
    void add(const Table& table, JoinOptions options, unsigned threads) {
        if (table.names.size() > 1) throw std::invalid_argument("a table of several runs");
        if (options.order == Order::rank && table.rank.empty() && table.size() > 0)
            throw std::invalid_argument("order == 'rank', but the run has no ranks; use 'score' or 'file'");
        options.unique = true;
        const std::size_t lists = table.lists();
        std::vector<std::size_t> topics(lists);
        for (std::size_t l = 0; l < lists; ++l) topics[l] = topic(table.topics[static_cast<std::size_t>(table.list_topic[l])]);
        std::vector<Ranker> rankers(std::max(1u, threads), Ranker(options));
        std::vector<std::vector<std::int32_t>> numbers(lists);
        std::vector<std::vector<double>> scores(options.scores ? lists : 0);
        parallel_for(lists, threads, {}, [&](std::size_t l, unsigned thread) {  // a topic has one list
            Ranker& ranker = rankers[thread];
            const auto begin = static_cast<std::size_t>(table.list_start[l]);
            const auto end = static_cast<std::size_t>(table.list_start[l + 1]);
            ranker.documents.clear();
            for (std::size_t i = begin; i < end; ++i)
                ranker.documents.push_back({options.order == Order::rank ? -table.rank[i] : table.value[i], table.doc[i]});
            ranker.rank_only(table.arena.data());
            const std::size_t kept = options.depth ? std::min(options.depth, end - begin) : end - begin;
            for (std::size_t i = 0; i < kept; ++i)
                numbers[l].push_back(pools_[topics[l]].number(ranker.documents[i].doc.in(table.arena.data())));
            if (options.scores)
                for (std::size_t i = 0; i < kept; ++i) scores[l].push_back(ranker.documents[i].key);
        });
        for (std::size_t l = 0; l < lists; ++l) {
            list_run.push_back(runs_);
            list_topic.push_back(static_cast<std::int32_t>(topics[l]));
            document.insert(document.end(), numbers[l].begin(), numbers[l].end());
            if (options.scores) score.insert(score.end(), scores[l].begin(), scores[l].end());
            list_start.push_back(static_cast<std::int64_t>(document.size()));
        }
        ++runs_;
    }

    // The documents of every topic, in the order of their numbers; `values` has a number for each, or is empty for zeros.
    Table documents(std::span<const double> values = {}) const {
        std::size_t size = 0;
        for (const TopicPool& pool : pools_) size += pool.size();
        if (!values.empty() && values.size() != size) throw std::invalid_argument("as many values as documents are needed");
        TableBuilder builder;
        builder.name("");
        std::size_t next = 0;
        for (std::size_t t = 0; t < pools_.size(); ++t) {
            for (std::size_t i = 0; i < pools_[t].size(); ++i, ++next)
                builder.add(pools_[t].id(static_cast<std::int32_t>(i)), values.empty() ? 0.0 : values[next]);
            builder.end_list(0, builder.topic(names_[t]));
        }
        return builder.finish();
    }

private:
    std::size_t topic(const std::string& name) {
        const auto [found, fresh] = number_.try_emplace(name, pools_.size());
        if (fresh) {
            pools_.emplace_back();
            names_.push_back(name);
        }
        return found->second;
    }

    std::int32_t runs_ = 0;
    std::unordered_map<std::string, std::size_t> number_;
    std::vector<std::string> names_;
    std::vector<TopicPool> pools_;
};

}  // namespace cranfield
