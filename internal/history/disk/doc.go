// Package disk has the calls by which a history looks at trees and changes them.
//
// A [Root] is a place in which changes are kept, pinned by a descriptor. [ParentIn] and
// [DirWalk] resolve a path beneath the roots without following links or mounts, and
// [StateAt] looks at a name there. All that changes a name, an object or its metadata
// goes by a descriptor and one name below it.
//
// Each call asks [Trial] before it is made. Tests let it fail or end the process there,
// which shows what a full disk or a loss of power leaves. The package knows Linux alone,
// and neither stores nor steps.
package disk
