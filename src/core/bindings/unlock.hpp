// Work without the GIL, which ends before Python does.
//
// While Python shuts down, it stops every other thread that asks for the GIL, by unwinding the stack of that thread. A thread
// that is stopped here, in a destructor or with threads of its own still at work, would end the whole process with
// std::terminate. So Python's exit waits for all such work, and work that starts later keeps the GIL.
#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <thread>

namespace cranfield {

namespace nb = nanobind;

// Both change only while the GIL is held.
inline std::atomic<int> works_without_gil{0};
inline std::atomic<bool> python_is_ending{false};

// Releases the GIL for its lifetime.
class Unlocked {
public:
    Unlocked() {
        if (python_is_ending) return;
        ++works_without_gil;
        release_.emplace();
    }
    ~Unlocked() {
        if (!release_) return;
        release_.reset();  // takes the GIL back
        --works_without_gil;
    }
    Unlocked(const Unlocked&) = delete;
    Unlocked& operator=(const Unlocked&) = delete;

private:
    std::optional<nb::gil_scoped_release> release_;
};

// Runs work() without the GIL.
template <typename Work>
auto unlocked(const Work& work) {
    const Unlocked without_gil;
    return work();
}

// Waits at Python's exit. Work with a watch stops at the next look of the watch.
inline void end_with_python() {
    python_is_ending = true;
    while (works_without_gil > 0) {
        const nb::gil_scoped_release release;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
}

// Lets Python's exit wait. A forked child has no threads but the one that forked, so nothing works without the GIL in it.
inline void register_exit() {
    works_without_gil = 0;
    python_is_ending = false;
    nb::module_::import_("atexit").attr("register")(nb::cpp_function(&end_with_python));
    const nb::module_ os = nb::module_::import_("os");
    if (nb::hasattr(os, "register_at_fork"))
        os.attr("register_at_fork")(nb::arg("after_in_child") = nb::cpp_function([] { works_without_gil = 0; }));
}

}  // namespace cranfield
