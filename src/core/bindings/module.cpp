// The module cranfield._core: what Python sees of the core.
#include "bindings/bind.hpp"
#include "bindings/unlock.hpp"

NB_MODULE(_core, m) {
    nanobind::set_leak_warnings(false);  // a run that a script or a notebook still holds when Python ends is not a leak
    m.doc() = "Reading runs and judgments, ranking, joining, resampling, comparing texts: the loops that numpy cannot do.";
    cranfield::register_exit();
    cranfield::bind_tables(m);
    cranfield::bind_joins(m);
    cranfield::bind_intents(m);
    cranfield::bind_resampling(m);
    cranfield::bind_pools(m);
    cranfield::bind_clicks(m);
    cranfield::bind_interleaving(m);
    cranfield::bind_sums(m);
    cranfield::bind_words(m);
    cranfield::bind_matrix(m);
    cranfield::bind_entropy(m);
}
