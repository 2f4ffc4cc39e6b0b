// Each file of this folder adds its functions and classes to the module.
#pragma once

#include <nanobind/nanobind.h>

namespace cranfield {

void bind_tables(nanobind::module_& m);
void bind_joins(nanobind::module_& m);
void bind_intents(nanobind::module_& m);
void bind_resampling(nanobind::module_& m);
void bind_pools(nanobind::module_& m);
void bind_clicks(nanobind::module_& m);
void bind_interleaving(nanobind::module_& m);
void bind_sums(nanobind::module_& m);
void bind_words(nanobind::module_& m);
void bind_matrix(nanobind::module_& m);
void bind_entropy(nanobind::module_& m);

}  // namespace cranfield
