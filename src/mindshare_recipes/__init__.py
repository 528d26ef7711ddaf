"""The studies behind mindshare as runnable examples, and the fine-tuning they need.

    building_blocks       where a model looks before and after fine-tuning on ASCII maps
    maps, accuracy        its data; how many actions are named correctly
    finetune              a base and examples → a LoRA adapter
    meaningless_tokens    what a run of meaningless tokens does to attention
    demo                  both in small, and a report of them

Recipes use mindshare as anyone would; nothing imports them.
"""
