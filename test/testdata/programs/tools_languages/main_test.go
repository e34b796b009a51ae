package main

import (
	"os"
	"testing"
)

func TestTwo(t *testing.T) {
	if Two() != 2 {
		t.Fail()
	}
	os.WriteFile(t.TempDir()+"/x", nil, 0o600)
}
