// Package doctor finds out what this machine can hold, by trying it. It makes each kind of
// namespace, and mounts in one what a workspace mounts. It installs the filters that a workspace
// gets, and reads a caller's memory as the broker does. It reads settings only to say why
// something was refused and what would change that.
//
// Its words:
//
//   - A [Check] is one thing that was tried or looked at: ok, weak (carrel runs,
//     with less) or missing. Needed says that without it nothing can run.
//   - A [Trial] is one small plan for package sandbox. What it ends with, an
//     errno and the step it came from, decides; no program's text is matched.
//   - A [Machine] is all that the checks may ask, and the one seam for tests,
//     which put errnos in. Each probe has an end in time.
//   - [Lima] is what backend lima may be asked for. No walls depend on it, so that its checks are
//     never needed, and made only where there is reason to ask.
//   - A [Cause] names why, for programs. A remedy says what to do in words, and
//     where that can be, in commands for a shell.
//   - [Answers] are probes that worked, kept in the state directory for as long
//     as nothing has changed that they depend on. Refusals are never kept.
//
// Limits. A check says what holds now, for this user, in this place: an
// administrator, a container or an update may change it. Nothing else stays
// behind. The package changes no setting itself.
//
// It stands above the mechanisms, beside package decide, and must import
// neither that nor any surface.
package doctor
