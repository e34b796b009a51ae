set -e
git x; mkdir -p build/out; echo o > build/out/o; echo y > src/x; echo z > src/z; mkdir src/main; rm -r src/main
git add -A; git commit -qm two; git checkout -q -b topic; echo t > t; git add t; git commit -qm three
git checkout -q main; echo u > u; git add u; git commit -qm four; git rebase -q topic; git branch -d topic
git config user.name Ada; git config branch.main.vscode-merge-base origin/main; git remote add origin https://example.com/x; git tag v1
mv build built; mkdir build; rmdir build; mv tools/x tools/y 2>/dev/null && exit 1; echo more > tools/other; git stash -q -u; git stash pop -q; git status --short
