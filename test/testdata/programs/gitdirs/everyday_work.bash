set -e
echo x >> file; git commit -qam x; git push -q ./bare.git main; git -C bare.git tag v1; git -C bare.git gc -q; git -C bare.git log --oneline
git clone -q bare.git c; git -C c commit -q --allow-empty -m c; git -C c push -q origin HEAD:topic
git clone -q --bare . new.git; git push -q ./new.git main:other; git -C new.git worktree add -q ../nwt other; echo y > nwt/y
git init -q --separate-git-dir=$PWD/sep2 w2; echo y > w2/y; git -C w2 add y; git -C w2 commit -qm y
echo y > sepw/y; git -C sepw add y; git -C sepw commit -qm y; git -C sepw checkout -q -b t; git -C sepw stash list
mv new.git moved.git; mv w2 w3
rm -rf bare.git moved.git nwt c sepw sepdir w3 sep2
