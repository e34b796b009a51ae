package stage

import (
	"maps"
	"slices"
	"testing"
)

// TestImageVariables: of the first process's environment the image's own counts, not what
// engines add and not what leads out.
func TestImageVariables(t *testing.T) {
	got := imageVariables([]string{
		"GOGC=off", "CARREL_IMAGE_PATH=/opt/bin:/bin", "CARREL_IMAGE_LANG=C", "CARREL_IMAGE_HOME=/", "CARREL_IMAGE_container=podman",
		"CARREL_IMAGE_HTTPS_PROXY=http://192.0.2.1", "CARREL_IMAGE_no_proxy=x", "CARREL_IMAGE_EMPTY=", "CARREL_IMAGE_none",
	})
	if want := map[string]string{"PATH": "/opt/bin:/bin", "LANG": "C", "EMPTY": ""}; !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestWithImage: what the policy passes or sets wins; helpers come before the image's
// programs, whatever the image says.
func TestWithImage(t *testing.T) {
	defer func(was map[string]string) { imageEnv = was }(imageEnv)
	given := []string{"PATH=/run/carrel/bin:/usr/bin:/bin", "LANG=de_DE.UTF-8"}
	imageEnv = nil
	if got := withImage(given); !slices.Equal(got, given) {
		t.Errorf("without an image: %q", got)
	}
	imageEnv = map[string]string{"PATH": "/opt/bin:relative:/run/carrel/evil:/bin", "LANG": "C", "JAVA_HOME": "/opt/java"}
	want := []string{"JAVA_HOME=/opt/java", "LANG=de_DE.UTF-8", "PATH=/run/carrel/bin:/opt/bin:/bin:/usr/bin"}
	if got := withImage(given); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
