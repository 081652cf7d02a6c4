# What the program says of itself, as files: the manual page and the completion scripts for bash, zsh and fish.
set(manual ${PROJECT_BINARY_DIR}/manual)
set(files ${manual}/noisefloor.1.gz)
add_custom_command(OUTPUT ${manual}/noisefloor.1.gz
  COMMAND ${CMAKE_COMMAND} -E make_directory ${manual}
  COMMAND ${PROJECT_SOURCE_DIR}/scripts/man_page $<TARGET_FILE:noisefloor_program> > ${manual}/noisefloor.1
  COMMAND gzip -9nf ${manual}/noisefloor.1
  DEPENDS noisefloor_program ${PROJECT_SOURCE_DIR}/scripts/man_page
  VERBATIM)
foreach(shell bash zsh fish)
  add_custom_command(OUTPUT ${manual}/completion.${shell}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${manual}
    COMMAND noisefloor_program completion ${shell} > ${manual}/completion.${shell}
    DEPENDS noisefloor_program
    VERBATIM)
  list(APPEND files ${manual}/completion.${shell})
endforeach()
add_custom_target(noisefloor_manual ALL DEPENDS ${files})

install(FILES ${manual}/noisefloor.1.gz DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${manual}/completion.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME noisefloor)
install(FILES ${manual}/completion.zsh DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions RENAME _noisefloor)
install(FILES ${manual}/completion.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d RENAME noisefloor.fish)
