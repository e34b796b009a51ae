// Package review keeps layers: what a command changed in a copy-on-write layer over a project,
// to be looked at and applied, or forgotten.
//
// A layer is a directory of the state directory. For each tree that the command could write it
// has the upper and the work directory of an overlay (Documentation/filesystems/overlayfs.rst,
// userxattr), and an index: a stat(2) of each path as it was before. [Store.Make] makes one.
// [Layer.Changes] compares it with the trees as they are now, and names as a conflict what
// others have changed since. [Layer.Script] says what carrying changes out takes, for package
// replay: git objects come first and refs last.
//
// What is in an upper directory was written from inside the walls. It is read by descriptors
// that follow no link, and compared; nothing of it is started. Nothing here writes into a tree.
package review
