// Files mapped into memory. Another program may cut a file short while it is read: then reading beyond its new end raises
// the signal SIGBUS, which would end the process.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>

#if !defined(_WIN32)
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <system_error>
#include <utility>

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

namespace cranfield {

#if defined(_WIN32)

// Windows refuses to cut a mapped file short, so Python's own mappings are safe there.
class Mapping {
public:
    Mapping(int, std::string) { throw std::logic_error("not for Windows"); }
    const char* data() const { return nullptr; }
    std::size_t size() const { return 0; }
    const std::string& path() const { return path_; }
    bool cut_short() const { return false; }
    void release(const char*, std::size_t) const {}

private:
    std::string path_;
};

#else

// The addresses of one mapping. The signal handler reads them, so they are never freed, only used again.
struct MappedRange {
    std::atomic<std::uintptr_t> begin{0}, end{0};
    std::atomic<bool> cut_short{false};
    std::atomic<bool> used{true};
    MappedRange* next = nullptr;
};

// Handles SIGBUS in mapped files: zeros take the place of what is not there any more, and the mapping remembers it. There is
// no lock, which a thread that is gone after a fork could hold for ever.
class MappedRanges {
public:
    static MappedRange* add(std::uintptr_t begin, std::uintptr_t end) {
        install();
        MappedRange* range = first_.load();
        while (range && range->used.exchange(true)) range = range->next;
        if (!range) {
            range = new MappedRange;
            range->next = first_.load();
            while (!first_.compare_exchange_weak(range->next, range)) {
            }
        }
        range->cut_short = false;
        range->end = end;
        range->begin = begin;
        return range;
    }
    static void remove(MappedRange* range) {
        range->begin = 0;
        range->end = 0;
        range->used = false;
    }

private:
    static inline std::atomic<MappedRange*> first_{nullptr};
    static inline std::atomic<bool> installing_{false};
    static inline std::uintptr_t page_ = 0;
    static inline struct sigaction previous_ {};  // for errors that are not in a mapped file

    // Called for every mapping: in the meantime other code, such as Python's faulthandler, may have installed its handler.
    static void install() {
        if (installing_.exchange(true)) return;
        struct sigaction current {};
        sigaction(SIGBUS, nullptr, &current);
        if (!(current.sa_flags & SA_SIGINFO) || current.sa_sigaction != &handle) {
            page_ = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
            previous_ = current;
            struct sigaction ours {};
            ours.sa_sigaction = &handle;
            ours.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
            sigemptyset(&ours.sa_mask);
            sigaction(SIGBUS, &ours, nullptr);
        }
        installing_ = false;
    }

    static void handle(int signal, siginfo_t* info, void* context) {
        const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
        for (MappedRange* range = first_.load(); range; range = range->next) {
            const std::uintptr_t end = range->end.load();
            if (address < range->begin.load() || address >= end) continue;
            const int error = errno;
            const std::uintptr_t from = address / page_ * page_;
            void* zeros = mmap(reinterpret_cast<void*>(from), end - from, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
            errno = error;
            if (zeros == MAP_FAILED) break;
            range->cut_short = true;
            return;
        }
        const struct sigaction before = previous_;
        previous_ = {};  // the default, in case that handler returns here
        if (before.sa_flags & SA_SIGINFO)
            before.sa_sigaction(signal, info, context);
        else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN)
            before.sa_handler(signal);
        else
            sigaction(signal, &before, nullptr);  // the access is repeated, and ends the process
    }
};

// The bytes of an open file.
class Mapping {
public:
    Mapping(int descriptor, std::string path) : path_(std::move(path)) {
        if (fstat(descriptor, &opened_) != 0) throw std::system_error(errno, std::generic_category());
        void* memory = mmap(nullptr, size(), PROT_READ, MAP_SHARED, descriptor, 0);
        if (memory == MAP_FAILED) throw std::system_error(errno, std::generic_category());
        data_ = static_cast<const char*>(memory);
        const auto begin = reinterpret_cast<std::uintptr_t>(memory);
        try {
            range_ = MappedRanges::add(begin, begin + size());
        } catch (...) {
            munmap(memory, size());
            throw;
        }
    }
    ~Mapping() {
        MappedRanges::remove(range_);
        munmap(const_cast<char*>(data_), size());
    }
    Mapping(const Mapping&) = delete;
    Mapping& operator=(const Mapping&) = delete;

    const char* data() const { return data_; }
    std::size_t size() const { return static_cast<std::size_t>(opened_.st_size); }
    const std::string& path() const { return path_; }

    // Takes the pages within these bytes out of the memory of the process. They are read again if they are needed again.
    void release(const char* begin, std::size_t size) const {
        const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
        const std::uintptr_t from = reinterpret_cast<std::uintptr_t>(begin) / page * page;
        const std::uintptr_t to = (reinterpret_cast<std::uintptr_t>(begin) + size) / page * page;
        if (to > from) madvise(reinterpret_cast<void*>(from), to - from, MADV_DONTNEED);
    }

    // Whether the file has become shorter. Then the bytes after its end are zeros.
    bool cut_short() const {
        if (range_->cut_short.load()) return true;
        struct stat now {};
        return stat(path_.c_str(), &now) == 0 && now.st_dev == opened_.st_dev && now.st_ino == opened_.st_ino &&
               now.st_size < opened_.st_size;
    }

private:
    std::string path_;
    struct stat opened_ {};
    const char* data_ = nullptr;
    MappedRange* range_ = nullptr;
};

#endif

}  // namespace cranfield
