// A replacement of operator new that fails once, at a chosen call; loaded before the core by LD_PRELOAD.
#include <atomic>
#include <cstdlib>
#include <new>

namespace {
std::atomic<long> calls{0}, fail_at{0}, live{0};

void* allocate(std::size_t size) {
    if (++calls == fail_at.load()) throw std::bad_alloc();
    void* memory = std::malloc(size ? size : 1);
    if (!memory) throw std::bad_alloc();
    ++live;
    return memory;
}
void release(void* memory) noexcept {
    if (memory) --live;
    std::free(memory);
}
}  // namespace

extern "C" {
void failing_new_start(long call) { calls = 0, fail_at = call; }
long failing_new_stop() { return fail_at = 0, calls.load(); }
long failing_new_live() { return live.load(); }
}

void* operator new(std::size_t size) { return allocate(size); }
void* operator new[](std::size_t size) { return allocate(size); }
void operator delete(void* memory) noexcept { release(memory); }
void operator delete[](void* memory) noexcept { release(memory); }
void operator delete(void* memory, std::size_t) noexcept { release(memory); }
void operator delete[](void* memory, std::size_t) noexcept { release(memory); }
