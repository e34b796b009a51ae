// Package config reads what people wrote for Carrel: the operator's file, the
// ceiling, the CARREL_ variables, the user's file and the project's file. It
// turns them into layers for policy.Decide and decides nothing itself.
//
// Its words:
//
//   - A [Kind] is which of the files a file is. The kind says which keys may
//     stand in it.
//   - The schema table (schema.go) is the one list of keys. Decoding, the JSON
//     Schema of [SchemaOf] and the settings of [Show] all come from it.
//   - A [Problem] is one mistake, with file, line, column and what would be
//     right. All mistakes of a file are reported together, and a file with a
//     mistake gives nothing at all.
//
// Files are YAML, so JSON too, of at most 1 MiB and one document, without
// anchors, aliases, merge keys and tags. The one tag is !!binary: YAML holds
// only Unicode, so a path that is not UTF-8 is written in base64, as in
// read: [!!binary L2RhdGEv/w==]. A relative path in a file is relative to the
// project, in whichever file it stands.
//
// The project's file is written by the authors of the repository, and by
// the agent: it is opened without following symlinks, and the keys that belong
// to the user are ignored in it with a warning.
//
// This package must not import any package of this module but policy.
package config
