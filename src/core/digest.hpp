// Digests of lists: the same on every machine and for every order of lines, and different if any entry is.
//
// A digest is the sum of the hashes of the entries of a list. It shows accidents; it does not withstand somebody who looks for
// two lists with the same digest.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "table.hpp"

namespace cranfield {

class EntryHash {
public:
    void add(std::string_view text) {
        for (const char c : text) add_byte(static_cast<unsigned char>(c));
        add_byte(0);  // no id has it, so that it ends the text
    }
    void add(double number) {
        if (number == 0) number = 0;  // and not -0
        std::uint64_t bits = 0;
        std::memcpy(&bits, &number, sizeof bits);
        for (int shift = 0; shift < 64; shift += 8) add_byte((bits >> shift) & 0xff);
    }
    // Every bit of the hash depends on every bit before it, so that sums of hashes are as good as hashes.
    std::uint64_t value() const {
        std::uint64_t h = hash_;
        h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9ULL;
        h = (h ^ (h >> 27)) * 0x94d049bb133111ebULL;
        return h ^ (h >> 31);
    }

private:
    void add_byte(std::uint64_t byte) { hash_ = (hash_ ^ byte) * 0x100000001b3ULL; }

    std::uint64_t hash_ = 0xcbf29ce484222325ULL;
};

// The digest of each list: its documents, values and ranks, and the labels if they count.
inline std::vector<std::uint64_t> list_digests(const Table& table, bool labels_count) {
    std::vector<std::uint64_t> digests(table.lists());
    for (std::size_t list = 0; list < digests.size(); ++list) {
        const auto end = static_cast<std::size_t>(table.list_start[list + 1]);
        for (auto row = static_cast<std::size_t>(table.list_start[list]); row < end; ++row) {
            EntryHash entry;
            entry.add(table.id(row));
            entry.add(table.value[row]);
            if (!table.rank.empty()) entry.add(table.rank[row]);
            if (labels_count && !table.labels.empty()) {
                const std::string& label = table.labels[table.label.empty() ? 0 : static_cast<std::size_t>(table.label[row])];
                entry.add(label == "Q0" ? "0" : std::string_view(label));
            }
            digests[list] += entry.value();
        }
    }
    return digests;
}

}  // namespace cranfield
