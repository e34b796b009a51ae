// Package undo takes steps of a history back.
//
// [PreviewOf] says what a [Request] would do, and what is in its way. [Do] does it: each step
// is taken back by a step of its own, which can be taken back as well. It looks at what there
// is now, has package graph decide, and makes actions of the decision. The actions are
// in the journal before the first is carried out, so that one that comes after a crash goes
// on with them. An action finds out by what lies there whether it was done already.
//
// [Recover] closes what was interrupted: steps of runs, and undos, which it finishes.
//
// Nothing that another program changed is lost: it is in the way, or gets another name. Paths
// are resolved beneath the pinned roots without following a link. The package knows no policy;
// what may be restored is asked of its caller.
package undo
