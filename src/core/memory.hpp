// Long columns whose memory stays unwritten until it is filled.
#pragma once

#include <memory>
#include <new>
#include <utility>
#include <vector>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace cranfield {

// New entries without a value are not initialised: `resize` does not write what several threads write right after.
template <typename T>
struct Unwritten : std::allocator<T> {
    template <typename U>
    struct rebind {
        using other = Unwritten<U>;
    };

    template <typename U>
    void construct(U* at) {
        ::new (static_cast<void*>(at)) U;
    }
    template <typename U, typename... Given>
    void construct(U* at, Given&&... given) {
        ::new (static_cast<void*>(at)) U(std::forward<Given>(given)...);
    }
};

// Gives memory that was freed back to the system, where the allocator would keep it for later.
inline void give_memory_back() {
#if defined(__GLIBC__)
    malloc_trim(0);
#endif
}

template <typename T>
using LongColumn = std::vector<T, Unwritten<T>>;

}  // namespace cranfield
