// Long columns whose memory stays unwritten until it is filled.
#pragma once

#include <memory>
#include <new>
#include <utility>
#include <vector>

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

template <typename T>
using LongColumn = std::vector<T, Unwritten<T>>;

}  // namespace cranfield
