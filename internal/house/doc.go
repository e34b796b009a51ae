// Package house holds the rules of this code base as tests: what every package says of itself,
// how large files and functions may grow, who may import whom, which calls need a reason; which
// modules are linked where. A rule that only a person remembers is broken within a month; a rule
// here fails the build.
//
// Its words:
//
//   - A room is a package of this module. The layer table in layers_test.go
//     says which rooms each room may import; a room that is not in the table is
//     an error, so that a new one is a decision.
//   - A listed exception is a call or import that is forbidden in general and
//     allowed in one place for the reason that stands beside it. An exception
//     without a use is an error as well.
//   - dependencies.txt lists the third-party modules that each room imports.
//     Every change of it shows up in review.
//
// Limits: the tests read the source, they do not type-check it. A forbidden
// function that is stored in a variable first is not seen; review is for that.
//
// The manual is held too. Generated are the tables of docs/configuration.md and docs/profiles.md
// from the schema, and of docs/system-calls.md from the filter's rules. So are those of
// docs/hosts.md from the presets, and docs/rooms.md from package comments. Links lead somewhere,
// and every module has its reason.
//
// This package has no code, only tests. Nothing may import it; its tests import
// the packages that the manual is generated from: config, seccomp and policy.
package house
