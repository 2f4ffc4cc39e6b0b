// Memory of long columns: in large pages where the system has them, and left unwritten until it is filled.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace cranfield {

// A process that touches memory for the first time waits for every page of it, and a large page takes hardly longer than
// one of the 512 small ones it stands for.
template <typename T>
struct LargePages {
    using value_type = T;
    static constexpr std::size_t kPage = 1 << 21;

    LargePages() = default;
    template <typename U>
    LargePages(const LargePages<U>&) {}

    T* allocate(std::size_t count) {
        if (!is_large(count)) return std::allocator<T>().allocate(count);
        if (count > static_cast<std::size_t>(-1) / 2 / sizeof(T)) throw std::bad_array_new_length();
        void* const memory = ::operator new(count * sizeof(T), std::align_val_t{kPage});
#if defined(MADV_HUGEPAGE)
        madvise(memory, count * sizeof(T), MADV_HUGEPAGE);  // advice: nothing is lost if it is not taken
#endif
        return static_cast<T*>(memory);
    }
    void deallocate(T* memory, std::size_t count) {
        if (is_large(count))
            ::operator delete(memory, std::align_val_t{kPage});
        else
            std::allocator<T>().deallocate(memory, count);
    }

    // Entries that are given no value get none: `resize` need not write what is written right after.
    template <typename U>
    void construct(U* at) {
        ::new (static_cast<void*>(at)) U;
    }
    template <typename U, typename... Given>
    void construct(U* at, Given&&... given) {
        ::new (static_cast<void*>(at)) U(std::forward<Given>(given)...);
    }

    friend bool operator==(const LargePages&, const LargePages&) { return true; }

private:
    static bool is_large(std::size_t count) { return count >= kPage / sizeof(T); }
};

template <typename T>
using LongColumn = std::vector<T, LargePages<T>>;

}  // namespace cranfield
