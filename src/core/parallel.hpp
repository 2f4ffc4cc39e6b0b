// Runs numbered pieces of work with several threads, while the calling thread watches for Ctrl-C and shows progress.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace cranfield {

// Called about ten times a second from the calling thread with the number of finished pieces. Returns false to stop the work;
// then it is not called again.
using Watch = std::function<bool(std::size_t done)>;

// Runs work(piece, thread) for every piece. Pieces run in any order, so results must not depend on it. The calling thread does
// something else `meanwhile`. Returns false if the watch stopped it.
inline bool parallel_for(std::size_t pieces, unsigned threads, const Watch& watch,
                         const std::function<void(std::size_t piece, unsigned thread)>& work,
                         const std::function<void()>& meanwhile = {}) {
    threads = static_cast<unsigned>(std::min<std::size_t>(std::max(1u, threads), pieces));
    if (threads <= 1 && pieces <= 1) {
        for (std::size_t piece = 0; piece < pieces; ++piece) work(piece, 0);
        if (meanwhile) meanwhile();
        return true;
    }
    std::atomic<std::size_t> next{0}, done{0};
    std::atomic<bool> stop{false};
    std::exception_ptr failure;
    std::mutex mutex;
    std::condition_variable finished;
    unsigned running = threads;
    std::vector<std::thread> team;
    team.reserve(threads);
    auto loop = [&](unsigned thread) {
        try {
            while (!stop.load(std::memory_order_relaxed)) {
                const std::size_t piece = next.fetch_add(1);
                if (piece >= pieces) break;
                work(piece, thread);
                done.fetch_add(1);
            }
        } catch (...) {
            const std::lock_guard lock(mutex);
            if (!failure) failure = std::current_exception();
            stop = true;
        }
        const std::lock_guard lock(mutex);
        --running;
        finished.notify_one();
    };
    unsigned started = 0;
    try {
        for (; started < threads; ++started) team.emplace_back(loop, started);
    } catch (const std::exception&) {  // no more threads, or no memory for one: use those that started
        const std::lock_guard lock(mutex);
        running -= threads - started;
    }
    if (started == 0) {
        running = 1;
        loop(0);
    }
    try {
        if (meanwhile) meanwhile();
    } catch (...) {
        const std::lock_guard lock(mutex);
        if (!failure) failure = std::current_exception();
        stop = true;
    }
    {
        std::unique_lock lock(mutex);
        while (running > 0) {
            finished.wait_for(lock, std::chrono::milliseconds(100));
            if (running > 0 && watch && !stop.load()) {
                lock.unlock();
                if (!watch(done.load())) stop = true;
                lock.lock();
            }
        }
    }
    for (auto& member : team) member.join();
    if (failure) std::rethrow_exception(failure);
    return !stop.load();
}

}  // namespace cranfield
