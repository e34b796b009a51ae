//go:build linux

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// hostImage is an image of links and empty directories. Its programs are the host's, which
// are granted: a scenario finds inside what it finds without a container.
const hostImage = "localhost/carrel-e2e:host"

// inHostImage are the flags.
var inHostImage = []string{"--backend", "container", "--image", hostImage, "--read", "/usr", "--read", "/etc/alternatives", "--read", "/etc/ssl"}

// allInBoxes says that every world's commands are in containers: of podman for container, of
// docker for docker, which root's are not.
var allInBoxes = os.Getenv("CARREL_TEST_BACKEND") != ""

// inBoxes says whether a test's are: those of the suite that are run once more in
// containers are subtests of these.
func inBoxes(t *testing.T) bool {
	return allInBoxes || strings.HasPrefix(t.Name(), "TestAttacksInContainers/") || strings.HasPrefix(t.Name(), "TestSuiteInContainers/")
}

// boxed is a world in which everything that is started is in a container with the host's
// programs, for root or for the ordinary user.
func boxed(t *testing.T, p person) *world {
	t.Helper()
	c := namedContainers
	switch {
	case p.uid == 0:
		c = rootContainers
	case os.Getenv("CARREL_TEST_BACKEND") == "docker":
		c = dockerContainers
	}
	w := contained(t, c)
	w.wrap = inBox
	w.write(w.home+"/.config/carrel/config.yaml", "backend: container\ncontainer:\n  engine: "+c.engine+"\n  image: "+hostImage+"\n")
	return w
}

// starting are the commands that start a workspace.
var starting = []string{"run", "shell", "start", "explain"}

// inBox adds the flags to what starts something. Flags of the program's own may come first.
func inBox(cmd *exec.Cmd) {
	verb := 1
	for verb+1 < len(cmd.Args) && strings.HasPrefix(cmd.Args[verb], "--") {
		verb += 2
	}
	switch {
	case verb >= len(cmd.Args):
	case slices.Contains(starting, cmd.Args[verb]):
		cmd.Args = slices.Concat(cmd.Args[:verb+1], inHostImage, cmd.Args[verb+1:])
	case cmd.Args[verb] == "stdio", cmd.Args[verb] == "mcp": // the rest is the configuration's
		cmd.Args = slices.Concat(cmd.Args[:verb+1], inHostImage[4:], cmd.Args[verb+1:])
	}
}

// makeHostTar makes the archive of the image with the host's programs.
func makeHostTar() (string, error) {
	root := built.base + "/hostimage"
	script := `set -eu
mkdir -p "$0"
cd "$0"
mkdir -p usr etc/alternatives etc/ssl home opt root var/lib
for name in bin sbin lib lib64; do ln -s usr/$name $name; done
cp /etc/ld.so.cache etc
printf '%s' "$1" >etc/marker
echo 'root:x:0:0:root:/root:/bin/sh' >etc/passwd
echo 'root:x:0:' >etc/group
tar -cf ../hostimage.tar .
chmod 644 ../hostimage.tar`
	if out, err := exec.Command("/bin/bash", "-c", script, root, imageMarker).CombinedOutput(); err != nil {
		return "", fmt.Errorf("making the image: %w: %s", err, out)
	}
	return root + ".tar", os.RemoveAll(root)
}

// TestSuiteInContainers: a part of the suite, as it is, in containers: terminals to attach and
// detach, JSON Lines, the protocol of host commands, credentials that stay outside.
func TestSuiteInContainers(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]func(*testing.T){
		"terminals":     TestDeskTerminal,
		"JSON Lines":    TestStdioRequests,
		"host protocol": TestHostProtocol,
		"a token":       TestLentToken,
		"MCP":           TestMCP,
	} {
		t.Run(name, test)
	}
}

// TestAttacksInContainers: what attacks leave, read and reach in containers is what they do
// without: nothing. Of the tables some are tried here, all with CARREL_SOAK=1.
func TestAttacksInContainers(t *testing.T) {
	t.Parallel()
	suites := map[string]func(*testing.T){
		"secrets":                TestVariantsOfSecrets,
		"born repositories":      TestVariantsOfBornRepositories,
		"what git names":         TestVariantsOfWhatGitNames,
		"linked worktrees":       TestVariantsOfLinkedWorktrees,
		"passwords from outside": TestPasswordsThatTheHostWrites,
		"descriptors":            TestB2NoWritableReopen,
		"directories":            TestB5NoDirectories,
		"roots of others":        TestB12ForeignRoots,
		"a second listener":      TestB24SecondListeners,
		"sockets of the host":    TestB26HostSockets,
		"a survey":               TestSurvey,
		"the terminal's mode": func(t *testing.T) {
			eachPerson(t, func(t *testing.T, p person) { terminalKeepsItsMode(t, p, []string{"none"}, "off") })
		},
	}
	if soaking {
		for name, test := range map[string]func(*testing.T){
			"protected names": TestProtectedNames, "names in worktrees": TestProtectedNamesInWorktrees, "removals": TestVariantsOfRemovals,
			"secrets from outside": TestVariantsOfRotatedSecrets, "masks": TestMasksCannotBeShakenOff, "links": TestLinksInGitDirectories,
			"system calls": TestSystemCallsAreRefused, "remounts": TestRemounts, "control groups": TestControlGroups,
		} {
			suites[name] = test
		}
	}
	for name, test := range suites {
		t.Run(name, test)
	}
}
