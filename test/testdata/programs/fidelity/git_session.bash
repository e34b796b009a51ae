git init -q -b main . && for i in 1 2 3 4 5; do echo $i >> n; echo $i > file$i; git add . ; git commit -qm "c$i"; done
git switch -qc topic HEAD~2; echo t > t; git add t; git commit -qm topic; echo u > t; git commit -qam topic2
GIT_SEQUENCE_EDITOR='sed -i -e 2s/pick/fixup/' git rebase -q -i main; git log --format='%h %s' --stat
git switch -q main; echo stash >> n; git stash -q; git stash list; git stash pop -q; git diff --stat; git checkout -q n
git bisect start HEAD HEAD~3; git bisect run sh -c '! grep -q 5 n' | tail -1; git bisect reset
git switch -q topic; git format-patch -q -1 --stdout > ../p || true; git format-patch -q -1; git reset -q --hard HEAD~; git apply *.patch; git status --porcelain; git am -q *.patch || true; git status --porcelain
rm -f ../p; git add -A; git commit -qm applied || true; git tag -am v1 v1; git gc -q --prune=now; git fsck --no-dangling; git count-objects -v | grep in-pack
git rev-parse HEAD main topic; git log --all --oneline | sort
