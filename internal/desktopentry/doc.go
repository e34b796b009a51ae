// Package desktopentry reads the launchers of desktops, .desktop files of the Desktop Entry
// Specification 1.5 (https://specifications.freedesktop.org/desktop-entry-spec/1.5/). It gives
// the arguments of the program that one starts. No shell has a part in it.
//
//   - [Parse] reads the group "Desktop Entry" of one file; other groups, as those of
//     further actions, are passed over. Only applications are taken.
//   - A name in another language is checked, and not kept.
//   - [Entry.Argv] puts files and the entry's own words in the place of field
//     codes, as %F.
//
// Quoting is the specification's and nothing beside it: a character that a shell
// would give a meaning to has to be in double quotes. What is not, is refused
// instead of being read in one of the two ways that other programs read it. Files
// come from anywhere; they are bounded, and errors name the line.
//
// The package imports nothing of this module, and decides nothing: what is started,
// where and whether at all, is its caller's matter.
package desktopentry
