//go:build linux

package e2e

import (
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
)

// registries puts one package into npm's registry and one into pip's index, at
// the names that npm and pip ask without being told.
func (n *internet) registries(w *world) {
	n.t.Helper()
	www := n.dir + "/www"
	tgz := www + "/registry.npmjs.org/tarballs/desk-greeting-1.0.0.tgz"
	w.npmPackage(tgz)
	data, err := os.ReadFile(tgz)
	n.must(err)
	sum := sha512.Sum512(data)
	n.page("registry.npmjs.org/desk-greeting", fmt.Sprintf(`{"name":"desk-greeting","dist-tags":{"latest":"1.0.0"},"versions":{"1.0.0":{
"name":"desk-greeting","version":"1.0.0","main":"index.js","bin":{"desk-greet":"cli.js"},"hasInstallScript":true,
"dist":{"integrity":"sha512-%s","tarball":"https://registry.npmjs.org/tarballs/desk-greeting-1.0.0.tgz"}}}}`, base64.StdEncoding.EncodeToString(sum[:])))
	wheel := w.wheel(www + "/files.pythonhosted.org/packages")
	data, err = os.ReadFile(wheel)
	n.must(err)
	n.page("pypi.org/simple/desk-greeting/index.html", fmt.Sprintf("<!DOCTYPE html><a href=\"https://files.pythonhosted.org/packages/%s#sha256=%x\">%[1]s</a>\n",
		filepath.Base(wheel), sha256.Sum256(data)))
}

// page is a file that a name serves.
func (n *internet) page(path, text string) {
	n.t.Helper()
	path = n.dir + "/www/" + path
	n.must(os.MkdirAll(filepath.Dir(path), 0o755))
	n.must(os.WriteFile(path, []byte(text), 0o644))
}
